#include "secure/tls_session.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace orchid::transport {
namespace {

constexpr std::size_t secret_digits = 64;

std::optional<std::array<unsigned char, secret_digits / 2>> from_hexadecimal(
    std::string_view text) {
  std::array<unsigned char, secret_digits / 2> bytes{};
  if (text.size() != secret_digits) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    bytes[i / 2] = static_cast<unsigned char>(bytes[i / 2] * 16 + digit);
  }
  return bytes;
}

unsigned copy_secret(std::string_view digits, unsigned char* psk, unsigned capacity) {
  const auto bytes = from_hexadecimal(digits);
  if (!bytes || capacity < bytes->size()) return 0;
  std::copy(bytes->begin(), bytes->end(), psk);
  return static_cast<unsigned>(bytes->size());
}

// OpenSSL's own socket BIO writes with write(2): in a program that lets SIGPIPE end it, a peer that
// goes away would end the program.

int socket_of(BIO* bio) { return *static_cast<const int*>(BIO_get_data(bio)); }

int finish_transfer(BIO* bio, ssize_t count, bool writes) {
  BIO_clear_retry_flags(bio);
  if (count >= 0) return static_cast<int>(count);
  if (errno == EAGAIN || errno == EINTR) {
    if (writes)
      BIO_set_retry_write(bio);
    else
      BIO_set_retry_read(bio);
  }
  return -1;
}

int send_bytes(BIO* bio, const char* data, int size) {
  return finish_transfer(
      bio, ::send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL), true);
}

int receive_bytes(BIO* bio, char* data, int size) {
  return finish_transfer(bio, ::recv(socket_of(bio), data, static_cast<std::size_t>(size), 0),
                         false);
}

long control_bio(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_method() {
  // For the life of the process, as OpenSSL's own methods are.
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "orchid socket");
    if (made == nullptr) return made;
    BIO_meth_set_write(made, send_bytes);
    BIO_meth_set_read(made, receive_bytes);
    BIO_meth_set_ctrl(made, control_bio);
    return made;
  }();
  return method;
}

/// What all connections of this process have in common; null if OpenSSL cannot do it. Making it
/// takes longer than a handshake.
SSL_CTX* shared_context() {
  static SSL_CTX* const context = [] {
    SSL_CTX* made = SSL_CTX_new(TLS_method());
    // Without a certificate the shared secret is the only way in. Tickets would be another.
    if (made == nullptr || SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(made, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set_num_tickets(made, 0) != 1) {
      SSL_CTX_free(made);
      made = nullptr;
    }
    return made;
  }();
  return context;
}

BIO* make_socket_bio(int* socket) {
  const BIO_METHOD* method = socket_method();
  BIO* bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, socket);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

TlsSession::TlsSession(UniqueFd socket, SecureChannel::FindSecret find_secret, std::string identity,
                       std::string secret)
    : socket_(std::move(socket)),
      socket_number_(socket_.get()),
      find_secret_(std::move(find_secret)),
      identity_(std::move(identity)),
      secret_(std::move(secret)),
      ssl_(nullptr, SSL_free) {}

TlsSession::~TlsSession() = default;

Result<std::unique_ptr<TlsSession>> TlsSession::accept(UniqueFd socket,
                                                       SecureChannel::FindSecret find_secret) {
  std::unique_ptr<TlsSession> session(
      new TlsSession(std::move(socket), std::move(find_secret), {}, {}));
  if (auto started = session->start(true); !started) return fail(std::move(started.error()));
  return session;
}

Result<std::unique_ptr<TlsSession>> TlsSession::connect(UniqueFd socket, std::string identity,
                                                        std::string secret) {
  std::unique_ptr<TlsSession> session(
      new TlsSession(std::move(socket), nullptr, std::move(identity), std::move(secret)));
  if (auto started = session->start(false); !started) return fail(std::move(started.error()));
  return session;
}

Result<void> TlsSession::start(bool accepts) {
  SSL_CTX* context = shared_context();
  if (context == nullptr) return fail(ErrorCode::unsupported, "OpenSSL cannot do TLS 1.3 here");
  ssl_.reset(SSL_new(context));
  BIO* bio = make_socket_bio(&socket_number_);
  if (!ssl_ || bio == nullptr || SSL_set_app_data(ssl_.get(), this) != 1) {
    BIO_free(bio);
    return fail(ErrorCode::system, "no memory for a TLS connection");
  }
  SSL_set_bio(ssl_.get(), bio, bio);  // owned by the connection from now on
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (accepts) {
    SSL_set_psk_server_callback(ssl_.get(), server_secret);
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_psk_client_callback(ssl_.get(), client_secret);
    SSL_set_connect_state(ssl_.get());
  }
  return {};
}

unsigned TlsSession::server_secret(SSL* ssl, const char* identity, unsigned char* psk,
                                   unsigned capacity) {
  auto* session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  const auto secret = session->find_secret_(identity);
  if (!secret) return 0;
  session->claimed_identity_ = identity;
  return copy_secret(*secret, psk, capacity);
}

unsigned TlsSession::client_secret(SSL* ssl, const char*, char* identity,
                                   unsigned identity_capacity, unsigned char* psk,
                                   unsigned capacity) {
  const auto* session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  if (session->identity_.size() >= identity_capacity) return 0;
  std::memcpy(identity, session->identity_.c_str(), session->identity_.size() + 1);
  return copy_secret(session->secret_, psk, capacity);
}

bool TlsSession::is_end(int error, int system_error) {
  if (error == SSL_ERROR_SYSCALL)
    return system_error == 0 || system_error == ECONNRESET || system_error == EPIPE;
  return error == SSL_ERROR_ZERO_RETURN ||
         (error == SSL_ERROR_SSL &&
          ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
}

Result<bool> TlsSession::explain(int result) {
  const int system_error = errno;
  const int error = SSL_get_error(ssl_.get(), result);
  wants_to_write_ = error == SSL_ERROR_WANT_WRITE;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return true;
  const bool refused = error == SSL_ERROR_SSL && !greeted_;
  // Who closes a connection, or dies, has the kernel say so. What follows the first failure says no
  // more about the peer.
  if (!std::exchange(has_failed_, true)) has_hung_up_ = is_end(error, system_error);
  ERR_clear_error();
  if (refused)
    return fail(ErrorCode::denied,
                "no such lease, or a wrong secret: ask the gateway for a new lease");
  return fail(ErrorCode::unreachable, "the peer has closed the connection");
}

Result<bool> TlsSession::greet() {
  if (greeted_) return true;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    greeted_ = true;
    wants_to_write_ = false;
    if (!claimed_identity_.empty()) identity_ = claimed_identity_;
    return true;
  }
  if (auto later = explain(result); !later) return later;
  return false;
}

Result<std::optional<std::size_t>> TlsSession::read(std::span<std::byte> room) {
  std::size_t count = 0;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &count);
  if (result == 1) return std::optional(count);
  if (auto later = explain(result); !later) return fail(std::move(later.error()));
  return std::optional<std::size_t>{};
}

Result<std::size_t> TlsSession::write(std::span<const std::byte> bytes) {
  std::size_t count = 0;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
  if (result == 1) {
    wants_to_write_ = false;
    return count;
  }
  if (auto later = explain(result); !later) return fail(std::move(later.error()));
  return std::size_t{0};
}

}  // namespace orchid::transport
