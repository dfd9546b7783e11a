#include "transport/secure_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "foundation/files.h"
#include "foundation/tcp.h"
#include "protocol/limits.h"
#include "secure/tls_session.h"

namespace orchid::transport {
namespace {

/// Before each packet. In the byte order of the hosts, which all are little-endian.
struct PacketHead {
  std::uint32_t text_bytes = 0;
  std::uint32_t files = 0;
  std::uint64_t file_bytes = 0;
};
static_assert(sizeof(PacketHead) == 16);

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t queue_limit = 256 * 1024 * 1024;

}  // namespace

class SecureChannel::State {
 public:
  explicit State(std::unique_ptr<TlsSession> tls) : tls_(std::move(tls)), in_(read_bytes) {}

  [[nodiscard]] TlsSession& tls() const { return *tls_; }
  [[nodiscard]] bool has_unsent() const { return sent_ < out_.size(); }

  Result<void> queue(std::string_view text, std::span<const std::byte> file, bool has_file) {
    const PacketHead head{static_cast<std::uint32_t>(text.size()), has_file ? 1U : 0U, file.size()};
    const auto append = [this](std::span<const std::byte> bytes) {
      out_.insert(out_.end(), bytes.begin(), bytes.end());
    };
    if (out_.size() - sent_ + text.size() + file.size() > queue_limit)
      return fail(ErrorCode::unreachable, "the peer does not read what it is sent");
    append(std::as_bytes(std::span(&head, 1)));
    append(as_bytes(text));
    append(file);
    return write_some();
  }

  Result<void> write_some() {
    const auto greeted = tls_->greet();
    if (!greeted) return fail(greeted.error());
    if (!*greeted) return {};
    while (has_unsent()) {
      const auto count = tls_->write(std::span(out_).subspan(sent_));
      if (!count) return fail(count.error());
      if (*count == 0) return {};
      sent_ += *count;
    }
    out_.clear();
    out_.shrink_to_fit();
    sent_ = 0;
    return {};
  }

  Result<std::optional<Packet>> read_packet() {
    while (true) {
      auto packet = take_packet();
      if (!packet || *packet) return packet;
      if (in_.size() - end_ < read_bytes) make_room();
      const auto count = tls_->read(std::span(in_).subspan(end_));
      if (!count) return fail(count.error());
      if (!*count) return std::optional<Packet>{};
      end_ += **count;
    }
  }

 private:
  void make_room() {
    std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (in_.size() - end_ < read_bytes) in_.resize(std::max(end_ + read_bytes, in_.size() * 2));
  }

  Result<std::optional<Packet>> take_packet() {
    PacketHead head;
    const std::size_t have = end_ - begin_;
    if (have < sizeof(head)) return std::optional<Packet>{};
    std::memcpy(&head, in_.data() + begin_, sizeof(head));
    if (head.text_bytes > max_packet_bytes || head.files > 1 ||
        head.file_bytes > limits::module_size.value || (head.files == 0 && head.file_bytes != 0))
      return fail(ErrorCode::bad_request, "this is not Orchid's protocol");
    const std::size_t whole = sizeof(head) + head.text_bytes + head.file_bytes;
    if (have < whole) return std::optional<Packet>{};
    const std::byte* text = in_.data() + begin_ + sizeof(head);
    Packet packet;
    packet.text.assign(reinterpret_cast<const char*>(text), head.text_bytes);
    if (head.files == 1) {
      auto file = make_sealed_memory("orchid-received", {text + head.text_bytes, head.file_bytes});
      if (!file) return fail(std::move(file.error()));
      packet.descriptors.push_back(std::move(*file));
    }
    begin_ += whole;
    if (begin_ == end_) begin_ = end_ = 0;
    if (begin_ == 0 && in_.size() > 4 * read_bytes) in_ = std::vector<std::byte>(read_bytes);
    return std::optional(std::move(packet));
  }

  std::unique_ptr<TlsSession> tls_;
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;  // of out_
  std::vector<std::byte> in_;
  std::size_t begin_ = 0;  // of what is not taken yet, in in_
  std::size_t end_ = 0;
};

SecureChannel::SecureChannel(std::unique_ptr<State> state) : state_(std::move(state)) {}
SecureChannel::SecureChannel(SecureChannel&& other) noexcept = default;
SecureChannel& SecureChannel::operator=(SecureChannel&& other) noexcept = default;
SecureChannel::~SecureChannel() = default;

Result<SecureChannel> SecureChannel::connect(const Peer& peer,
                                             std::chrono::steady_clock::time_point deadline) {
  auto socket = connect_tcp(peer.address, deadline, HostNames::looked_up);
  if (!socket) return fail(std::move(socket.error()));
  end_when_silent(socket->get());
  auto tls = TlsSession::connect(std::move(*socket), peer.identity, peer.secret);
  if (!tls) return fail(std::move(tls.error()));
  auto state = std::make_unique<State>(std::move(*tls));
  if (auto greeting = state->write_some(); !greeting) return fail(std::move(greeting.error()));
  return SecureChannel(std::move(state));
}

Result<SecureChannel> SecureChannel::accept(UniqueFd socket, FindSecret find_secret) {
  send_at_once(socket.get());
  end_when_silent(socket.get());
  if (::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK) != 0)
    return fail_errno("making a socket non-blocking");
  auto tls = TlsSession::accept(std::move(socket), std::move(find_secret));
  if (!tls) return fail(std::move(tls.error()));
  return SecureChannel(std::make_unique<State>(std::move(*tls)));
}

const std::string& SecureChannel::identity() const {
  static const std::string nobody;
  return state_->tls().greeted() ? state_->tls().identity() : nobody;
}

Result<void> SecureChannel::send(std::string_view text, const std::vector<int>& files) {
  if (text.size() > max_packet_bytes || files.size() > 1)
    return fail(ErrorCode::too_large, "a packet has at most 128 KiB of text and one file");
  if (files.empty()) return state_->queue(text, {}, false);
  const auto mapped = MappedFile::map(files.front(), {.limit = limits::module_size});
  if (!mapped) return fail(mapped.error());
  return state_->queue(text, mapped->bytes(), true);
}

Result<std::optional<Packet>> SecureChannel::receive() {
  if (auto written = state_->write_some(); !written) return fail(std::move(written.error()));
  if (!state_->tls().greeted()) return std::optional<Packet>{};
  return state_->read_packet();
}

bool SecureChannel::has_hung_up() const { return state_->tls().has_hung_up(); }

int SecureChannel::descriptor() const { return state_->tls().descriptor(); }

bool SecureChannel::wants_to_write() const {
  return state_->tls().wants_to_write() || (state_->tls().greeted() && state_->has_unsent());
}

}  // namespace orchid::transport
