// secure/tls_session.h: bytes over TLS 1.3 with a shared secret. The only place of this library
// that knows OpenSSL's TLS.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "foundation/result.h"
#include "transport/secure_channel.h"

struct ssl_ctx_st;
struct ssl_st;

namespace orchid::transport {

/// One end of a connection. Neither copied nor moved: OpenSSL's callbacks know its address.
class TlsSession {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> accept(
      UniqueFd socket, SecureChannel::FindSecret find_secret);
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> connect(UniqueFd socket,
                                                                   std::string identity,
                                                                   std::string secret);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  /// True once both ends have proved that they have the secret. Errors: `denied`, `unreachable`.
  [[nodiscard]] Result<bool> greet();
  /// How many bytes were read; nothing: none are there now. Errors: `unreachable`.
  [[nodiscard]] Result<std::optional<std::size_t>> read(std::span<std::byte> room);
  /// How many bytes were taken; 0: the socket is full. Errors: `unreachable`.
  [[nodiscard]] Result<std::size_t> write(std::span<const std::byte> bytes);

  [[nodiscard]] bool greeted() const { return greeted_; }
  [[nodiscard]] const std::string& identity() const { return identity_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] bool wants_to_write() const { return wants_to_write_; }
  /// As that of SecureChannel.
  [[nodiscard]] bool has_hung_up() const { return has_hung_up_; }

 private:
  TlsSession(UniqueFd socket, SecureChannel::FindSecret find_secret, std::string identity,
             std::string secret);
  [[nodiscard]] Result<void> start(bool accepts);
  /// Whether the operation is to be repeated later.
  [[nodiscard]] Result<bool> explain(int result);
  /// Whether the peer has closed the connection, or died. `error`: SSL_get_error's.
  [[nodiscard]] static bool is_end(int error, int system_error);

  static unsigned server_secret(ssl_st* ssl, const char* identity, unsigned char* psk,
                                unsigned capacity);
  static unsigned client_secret(ssl_st* ssl, const char* hint, char* identity,
                                unsigned identity_capacity, unsigned char* psk, unsigned capacity);

  UniqueFd socket_;
  int socket_number_;
  SecureChannel::FindSecret find_secret_;
  std::string identity_;  // of the connecting end; at the accepting one once it is proved
  std::string claimed_identity_;
  std::string secret_;
  bool greeted_ = false;
  bool wants_to_write_ = false;
  bool has_failed_ = false;
  bool has_hung_up_ = false;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
};

}  // namespace orchid::transport
