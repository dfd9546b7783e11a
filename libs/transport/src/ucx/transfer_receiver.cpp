#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "transport/ucx_transfer.h"
#include "ucx/hello.h"
#include "ucx/transfer_turn.h"
#include "ucx/transfer_window.h"

namespace orchid::transport {
namespace {

/// For the last request to leave; who does not hear it sees the connection end.
constexpr std::chrono::milliseconds flush_patience{200};
/// At the clock, while a pipe is full.
constexpr std::chrono::milliseconds look_again{500};

}  // namespace

/// Parts are asked for and answered in their order, so that what has come has no gap.
class UcxTransferReceiver::State final : public FrameSink {
 public:
  State(std::unique_ptr<UcxLink> link, ByteCount bytes, bool awaits_start)
      : link_(std::move(link)), bytes_(bytes), awaits_start_(awaits_start) {
    link_->set_sink(this);
  }
  [[nodiscard]] const char* on_frame(const Frame& frame,
                                     std::span<const std::byte> payload) noexcept override;
  [[nodiscard]] Result<void> receive(std::span<std::byte> room, std::uint64_t& have,
                                     const TransferPace& pace);
  [[nodiscard]] Result<void> receive_into(int sink, const TransferRange& range,
                                          const TransferPace& pace);

 private:
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  /// So many parts may be under way that were not taken off yet.
  void ask_on(std::uint64_t taken);
  /// Of a sender that has come to us.
  [[nodiscard]] Result<void> await_start(TransferTurn& turn);
  [[nodiscard]] std::byte* place_of(std::uint64_t got);
  /// What has come goes into the sink, as far as it takes it. False: there is nothing for it, or it
  /// is full.
  [[nodiscard]] Result<bool> write_next(int sink);
  [[nodiscard]] Result<void> write_all(int sink);
  [[nodiscard]] Result<void> write_rest(int sink, const TransferPace& pace);
  void ask(std::uint64_t offset, std::uint64_t length);

  std::unique_ptr<UcxLink> link_;
  ByteCount bytes_;
  bool awaits_start_;
  std::span<std::byte> room_;
  std::array<Part, transfer_window> parts_{};  // that were asked for, by number
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t next_ = 0;  // the first byte that was not asked for
  std::uint64_t have_ = 0;
  std::uint64_t end_ = 0;  // of what is wanted

  // Of a sink that is a pipe:
  std::unique_ptr<TransferWindow> window_;  // null: it is memory
  std::uint64_t written_ = 0;               // the first byte that is not in the sink
  std::uint64_t taken_ = 0;                 // parts that are
  bool is_full_ = false;
};

const char* UcxTransferReceiver::State::on_frame(const Frame& frame,
                                                 std::span<const std::byte> payload) noexcept {
  if (frame.kind != FrameKind::first && frame.kind != FrameKind::more) return "kind of frame";
  if (awaits_start_) {
    const bool is_start = frame.kind == FrameKind::first && frame.header.request_id == 0 &&
                          frame.header.payload_length == 0 && payload.empty();
    awaits_start_ = !is_start;
    return is_start ? nullptr : "bytes before the start";
  }
  if (answered_ == asked_ || frame.header.request_id != answered_ + 1)
    return "bytes that nobody asked for";
  const Part& part = parts_[answered_ % transfer_window];
  if (frame.header.payload_offset != part.offset || frame.header.payload_length != part.length)
    return "another part than was asked for";
  const std::uint64_t got = have_ - part.offset;
  if (frame.position != got || (frame.kind == FrameKind::first) != (got == 0))
    return "order of pieces";
  if (payload.empty() || payload.size() > part.length - got) return "length of a piece";
  std::memcpy(place_of(got), payload.data(), payload.size());
  have_ += payload.size();
  if (have_ == part.offset + part.length) ++answered_;
  return nullptr;
}

std::byte* UcxTransferReceiver::State::place_of(std::uint64_t got) {
  return window_ ? window_->part(answered_).data() + got : room_.data() + have_;
}

void UcxTransferReceiver::State::ask(std::uint64_t offset, std::uint64_t length) {
  Frame frame{.kind = FrameKind::first};
  frame.header.request_id = ++asked_;
  frame.header.payload_offset = offset;
  frame.header.payload_length = length;
  link_->send({.frame = frame});
}

void UcxTransferReceiver::State::ask_on(std::uint64_t taken) {
  while (next_ != end_ && asked_ - taken != transfer_window) {
    const Part part{next_, std::min<std::uint64_t>(transfer_part, end_ - next_)};
    parts_[asked_ % transfer_window] = part;
    ask(part.offset, part.length);
    next_ += part.length;
  }
}

Result<void> UcxTransferReceiver::State::await_start(TransferTurn& turn) {
  while (awaits_start_)
    if (auto taken = turn.take(0); !taken && awaits_start_) return taken;
  return {};
}

Result<void> UcxTransferReceiver::State::receive(std::span<std::byte> room, std::uint64_t& have,
                                                 const TransferPace& pace) {
  if (room.size() != bytes_.value || have > bytes_.value)
    return fail(ErrorCode::internal, "the room has another size than the object");
  room_ = room;
  next_ = have_ = have;
  end_ = bytes_.value;
  TransferTurn turn(*link_, pace, "sender");
  if (auto started = await_start(turn); !started) return started;
  while (have_ != bytes_.value) {
    ask_on(answered_);
    const auto taken = turn.take(have_);
    have = have_;
    if (!taken && have_ != bytes_.value) return taken;
  }
  ask(bytes_.value, 0);
  (void)link_->flush(flush_patience);  // all is here, whatever becomes of that
  return {};
}

Result<bool> UcxTransferReceiver::State::write_next(int sink) {
  is_full_ = false;
  if (written_ == have_) return false;
  const Part& part = parts_[taken_ % transfer_window];
  const std::uint64_t until = std::min(have_, part.offset + part.length);
  const auto count =
      write_pipe(sink, window_->part(taken_).subspan(written_ - part.offset, until - written_));
  if (!count) return fail(count.error());
  is_full_ = !*count;
  if (!*count) return false;
  written_ += **count;
  if (written_ == part.offset + part.length) ++taken_;
  return true;
}

Result<void> UcxTransferReceiver::State::receive_into(int sink, const TransferRange& range,
                                                      const TransferPace& pace) {
  if (range.begin > bytes_.value || range.length > bytes_.value - range.begin)
    return fail(ErrorCode::internal, "a part that the object does not have");
  window_ = std::make_unique<TransferWindow>();
  written_ = next_ = have_ = range.begin;
  end_ = range.begin + range.length;
  TransferTurn turn(*link_, pace, "sender");
  if (auto started = await_start(turn); !started) return started;
  while (have_ != end_) {
    ask_on(taken_);
    const TransferTurn::Own own{.pipe = is_full_ ? sink : -1,
                                .events = POLLOUT,
                                .is_late = is_full_ && answered_ == asked_};
    if (auto moved = turn.take(have_, own); !moved && have_ != end_) return moved;
    if (auto wrote = write_all(sink); !wrote) return wrote;
  }
  ask(bytes_.value, 0);
  (void)link_->flush(flush_patience);
  return write_rest(sink, pace);
}

Result<void> UcxTransferReceiver::State::write_all(int sink) {
  for (;;) {
    const auto wrote = write_next(sink);
    if (!wrote) return fail(wrote.error());
    if (!*wrote) return {};
  }
}

/// When the sender is not needed any more.
Result<void> UcxTransferReceiver::State::write_rest(int sink, const TransferPace& pace) {
  for (;;) {
    if (auto wrote = write_all(sink); !wrote) return wrote;
    if (written_ == end_) return {};
    std::array entries{pollfd{.fd = sink, .events = POLLOUT, .revents = 0},
                       pollfd{.fd = pace.stop, .events = POLLIN, .revents = 0}};
    ::poll(entries.data(), entries.size(), static_cast<int>(look_again.count()));
    if (entries[1].revents != 0) return fail(ErrorCode::cancelled, "the transfer was told to end");
    if (std::chrono::steady_clock::now() > pace.deadline)
      return fail(ErrorCode::timed_out, "the transfer has taken longer than it may");
  }
}

Result<UcxTransferReceiver> UcxTransferReceiver::connect(UcxContext& context,
                                                         const TransferPeer& options) {
  auto link = connect_link(context,
                           {.address = options.address,
                            .magic = transfer_magic,
                            .key = options.key,
                            .deadline = options.deadline},
                           [&](const Welcome& welcome) -> Result<void> {
                             if (welcome.response_bytes == options.bytes.value) return {};
                             return fail(ErrorCode::bad_request,
                                         "the other host has an object of another size");
                           });
  if (!link) return fail(std::move(link.error()));
  return UcxTransferReceiver(
      std::make_unique<State>(std::move(*link), options.bytes, /*awaits_start=*/false));
}

UcxTransferReceiver UcxTransferReceiver::over(std::unique_ptr<UcxLink> link, ByteCount bytes) {
  return UcxTransferReceiver(
      std::make_unique<State>(std::move(link), bytes, /*awaits_start=*/true));
}

UcxTransferReceiver::UcxTransferReceiver(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxTransferReceiver::UcxTransferReceiver(UcxTransferReceiver&& other) noexcept = default;
UcxTransferReceiver& UcxTransferReceiver::operator=(UcxTransferReceiver&& other) noexcept = default;
UcxTransferReceiver::~UcxTransferReceiver() = default;
Result<void> UcxTransferReceiver::receive(std::span<std::byte> room, std::uint64_t& have,
                                          const TransferPace& pace) {
  return state_->receive(room, have, pace);
}
Result<void> UcxTransferReceiver::receive_into(int sink, const TransferRange& range,
                                               const TransferPace& pace) {
  return state_->receive_into(sink, range, pace);
}

}  // namespace orchid::transport
