#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "transport/ucx_transfer.h"
#include "ucx/hello.h"
#include "ucx/transfer_turn.h"

namespace orchid::transport {
namespace {

/// For the last request to leave; who does not hear it sees the connection end.
constexpr std::chrono::milliseconds flush_patience{200};

}  // namespace

/// Parts are asked for and answered in their order, so that what has come has no gap.
class UcxTransferReceiver::State final : public FrameSink {
 public:
  State(std::unique_ptr<UcxLink> link, ByteCount bytes) : link_(std::move(link)), bytes_(bytes) {
    link_->set_sink(this);
  }
  [[nodiscard]] const char* on_frame(const Frame& frame,
                                     std::span<const std::byte> payload) noexcept override;
  [[nodiscard]] Result<void> receive(std::span<std::byte> room, std::uint64_t& have,
                                     const TransferPace& pace);

 private:
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  void ask_on();
  void ask(std::uint64_t offset, std::uint64_t length);

  std::unique_ptr<UcxLink> link_;
  ByteCount bytes_;
  std::span<std::byte> room_;
  std::array<Part, transfer_window> parts_{};  // that were asked for, by number
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t next_ = 0;  // the first byte that was not asked for
  std::uint64_t have_ = 0;
};

const char* UcxTransferReceiver::State::on_frame(const Frame& frame,
                                                 std::span<const std::byte> payload) noexcept {
  if (frame.kind != FrameKind::first && frame.kind != FrameKind::more) return "kind of frame";
  if (answered_ == asked_ || frame.header.request_id != answered_ + 1)
    return "bytes that nobody asked for";
  const Part& part = parts_[answered_ % transfer_window];
  if (frame.header.payload_offset != part.offset || frame.header.payload_length != part.length)
    return "another part than was asked for";
  const std::uint64_t got = have_ - part.offset;
  if (frame.position != got || (frame.kind == FrameKind::first) != (got == 0))
    return "order of pieces";
  if (payload.empty() || payload.size() > part.length - got) return "length of a piece";
  std::memcpy(room_.data() + have_, payload.data(), payload.size());
  have_ += payload.size();
  if (have_ == part.offset + part.length) ++answered_;
  return nullptr;
}

void UcxTransferReceiver::State::ask(std::uint64_t offset, std::uint64_t length) {
  Frame frame{.kind = FrameKind::first};
  frame.header.request_id = ++asked_;
  frame.header.payload_offset = offset;
  frame.header.payload_length = length;
  link_->send({.frame = frame});
}

void UcxTransferReceiver::State::ask_on() {
  while (next_ != bytes_.value && asked_ - answered_ != transfer_window) {
    const Part part{next_, std::min<std::uint64_t>(transfer_part, bytes_.value - next_)};
    parts_[asked_ % transfer_window] = part;
    ask(part.offset, part.length);
    next_ += part.length;
  }
}

Result<void> UcxTransferReceiver::State::receive(std::span<std::byte> room, std::uint64_t& have,
                                                 const TransferPace& pace) {
  if (room.size() != bytes_.value || have > bytes_.value)
    return fail(ErrorCode::internal, "the room has another size than the object");
  room_ = room;
  next_ = have_ = have;
  TransferTurn turn(*link_, pace, "sender");
  while (have_ != bytes_.value) {
    ask_on();
    const auto taken = turn.take(have_);
    have = have_;
    if (!taken && have_ != bytes_.value) return taken;
  }
  ask(bytes_.value, 0);
  (void)link_->flush(flush_patience);  // all is here, whatever becomes of that
  return {};
}

Result<UcxTransferReceiver> UcxTransferReceiver::connect(UcxContext& context,
                                                         const Options& options) {
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
  return UcxTransferReceiver(std::make_unique<State>(std::move(*link), options.bytes));
}

UcxTransferReceiver::UcxTransferReceiver(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxTransferReceiver::UcxTransferReceiver(UcxTransferReceiver&& other) noexcept = default;
UcxTransferReceiver& UcxTransferReceiver::operator=(UcxTransferReceiver&& other) noexcept = default;
UcxTransferReceiver::~UcxTransferReceiver() = default;
Result<void> UcxTransferReceiver::receive(std::span<std::byte> room, std::uint64_t& have,
                                          const TransferPace& pace) {
  return state_->receive(room, have, pace);
}

}  // namespace orchid::transport
