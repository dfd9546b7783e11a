#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "transport/ucx_transfer.h"
#include "ucx/guests.h"
#include "ucx/hello.h"
#include "ucx/transfer_turn.h"
#include "ucx/transfer_window.h"

namespace orchid::transport {

/// Requests count from 1. Each has a place until its last byte has left.
class UcxTransferSender::State final : public FrameSink {
 public:
  State(std::unique_ptr<UcxLink> link, ByteCount bytes) : link_(std::move(link)), bytes_(bytes) {
    link_->set_sink(this);
  }
  [[nodiscard]] const char* on_frame(const Frame& frame,
                                     std::span<const std::byte> payload) noexcept override;
  [[nodiscard]] Result<void> serve(std::span<const std::byte> object, const TransferPace& pace);
  [[nodiscard]] Result<void> serve_from(int source, const TransferPace& pace);
  /// To a receiver that has listened, and asks from then on: what it says earlier we might hear
  /// before we are there.
  void say_start() { link_->send({.frame = {.kind = FrameKind::first}}); }

 private:
  /// Request `answered_ + 1`, if its place is free of what was there before.
  [[nodiscard]] bool answer_next(std::span<const std::byte> object);
  void answer(std::span<const std::byte> part);
  /// Of the next request, out of the source, and answers it when it is whole. False: there is
  /// nothing to read, or none is asked for.
  [[nodiscard]] Result<bool> read_next(int source);
  /// Another number whenever something was asked for, or has left.
  [[nodiscard]] std::uint64_t progress_made() const;

  std::unique_ptr<UcxLink> link_;
  ByteCount bytes_;
  std::array<CallHeader, transfer_window> asked_{};       // what is not answered yet, by its number
  std::array<std::uint32_t, transfer_window> pending_{};  // sends that are not complete, likewise
  std::uint64_t received_ = 0;                            // requests
  std::uint64_t answered_ = 0;
  bool finished_ = false;

  // Of a source that is a pipe:
  TransferWindow window_;
  std::uint64_t sent_ = 0;  // of the object
  std::size_t read_ = 0;    // of the part that follows
  bool is_dry_ = false;     // asked for, and not there yet
};

/// A request of no bytes is the last one: the receiver has all that it needs.
const char* UcxTransferSender::State::on_frame(const Frame& frame,
                                               std::span<const std::byte> payload) noexcept {
  const CallHeader& header = frame.header;
  if (frame.kind != FrameKind::first || !payload.empty()) return "kind of frame";
  if (finished_) return "a request after the last one";
  if (header.request_id != received_ + 1) return "request id";
  if (received_ - answered_ == transfer_window) return "too many requests";
  if (header.payload_length > transfer_part) return "length of a part";
  if (header.payload_offset > bytes_.value ||
      header.payload_length > bytes_.value - header.payload_offset)
    return "place of a part";
  finished_ = header.payload_length == 0;
  if (finished_) return nullptr;
  asked_[received_ % transfer_window] = header;
  ++received_;
  return nullptr;
}

bool UcxTransferSender::State::answer_next(std::span<const std::byte> object) {
  if (answered_ == received_) return false;
  const std::size_t place = answered_ % transfer_window;
  if (pending_[place] != 0) return false;
  answer(object.subspan(asked_[place].payload_offset, asked_[place].payload_length));
  return true;
}

void UcxTransferSender::State::answer(std::span<const std::byte> part) {
  const std::size_t place = answered_ % transfer_window;
  const CallHeader& asked = asked_[place];
  Frame frame{.kind = FrameKind::first};
  frame.header.request_id = asked.request_id;
  frame.header.payload_offset = asked.payload_offset;
  frame.header.payload_length = asked.payload_length;
  ++answered_;
  link_->send({.frame = frame, .payload = part, .pending = &pending_[place]});
}

Result<bool> UcxTransferSender::State::read_next(int source) {
  is_dry_ = false;
  const std::size_t place = answered_ % transfer_window;
  if (answered_ == received_ || pending_[place] != 0) return false;
  const CallHeader& asked = asked_[place];
  if (asked.payload_offset != sent_)
    return fail(ErrorCode::bad_request, "the receiver does not ask for parts in their order");
  const std::span<std::byte> part = window_.part(answered_).first(asked.payload_length);
  const auto count = read_pipe(source, part.subspan(read_));
  if (!count) return fail(count.error());
  is_dry_ = !*count;
  if (!*count) return false;
  read_ += **count;
  if (read_ != part.size()) return true;
  answer(part);
  sent_ += part.size();
  read_ = 0;
  return true;
}

std::uint64_t UcxTransferSender::State::progress_made() const {
  constexpr std::uint64_t sends_of_part = transfer_part / UcxLink::chunk + 2;
  std::uint64_t under_way = 0;
  for (const std::uint32_t pending : pending_) under_way += pending;
  return received_ + (sends_of_part * answered_) - under_way;
}

Result<void> UcxTransferSender::State::serve(std::span<const std::byte> object,
                                             const TransferPace& pace) {
  if (object.size() != bytes_.value)
    return fail(ErrorCode::internal, "the object has another size than was listened for");
  TransferTurn turn(*link_, pace, "receiver");
  for (;;) {
    while (answer_next(object)) {
    }
    // Who says that it needs no more may have gone since.
    if (finished_) return {};
    if (auto taken = turn.take(progress_made()); !taken && !finished_) return taken;
  }
}

Result<void> UcxTransferSender::State::serve_from(int source, const TransferPace& pace) {
  TransferTurn turn(*link_, pace, "receiver");
  for (;;) {
    for (bool is_reading = true; is_reading;) {
      const auto read = read_next(source);
      if (!read) return fail(read.error());
      is_reading = *read;
    }
    if (finished_) return {};
    const TransferTurn::Own own{.pipe = is_dry_ ? source : -1,
                                .events = POLLIN,
                                .is_late = is_dry_ && !link_->is_sending()};
    if (auto taken = turn.take(progress_made(), own); !taken && !finished_) return taken;
  }
}

UcxTransferSender::UcxTransferSender(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxTransferSender::UcxTransferSender(UcxTransferSender&& other) noexcept = default;
UcxTransferSender& UcxTransferSender::operator=(UcxTransferSender&& other) noexcept = default;
UcxTransferSender::~UcxTransferSender() = default;
Result<void> UcxTransferSender::serve(std::span<const std::byte> object, const TransferPace& pace) {
  return state_->serve(object, pace);
}
Result<void> UcxTransferSender::serve_from(int source, const TransferPace& pace) {
  return state_->serve_from(source, pace);
}

Result<UcxTransferSender> UcxTransferSender::connect(UcxContext& context,
                                                     const TransferPeer& peer) {
  auto link = connect_link(context,
                           {.address = peer.address,
                            .magic = transfer_magic,
                            .key = peer.key,
                            .deadline = peer.deadline},
                           [&](const Welcome& welcome) -> Result<void> {
                             if (welcome.request_bytes == peer.bytes.value) return {};
                             return fail(ErrorCode::bad_request,
                                         "the other host has a room of another size");
                           });
  if (!link) return fail(std::move(link.error()));
  auto state = std::make_unique<State>(std::move(*link), peer.bytes);
  state->say_start();
  return UcxTransferSender(std::move(state));
}

class UcxTransferListener::State {
 public:
  State(UcxContext& context, const Options& options, Guests guests)
      : context_(context), options_(options), guests_(std::move(guests)) {}
  [[nodiscard]] const std::string& address() const { return guests_.address(); }
  /// For an object that goes from here, or comes here.
  enum class Way : std::uint8_t { sends, receives };
  [[nodiscard]] Result<std::unique_ptr<UcxLink>> accept(LaneDeadline deadline, int stop, Way way);
  [[nodiscard]] ByteCount bytes() const { return options_.bytes; }

 private:
  UcxContext& context_;
  Options options_;
  Guests guests_;
};

Result<std::unique_ptr<UcxLink>> UcxTransferListener::State::accept(LaneDeadline deadline, int stop,
                                                                    Way way) {
  auto guest = guests_.wait(deadline, stop);
  if (!guest) return fail(std::move(guest.error()));
  Door door(std::move(*guest), std::chrono::steady_clock::now() + options_.hello_timeout);
  const std::uint64_t bytes = options_.bytes.value;
  return accept_link(context_, options_.key, door,
                     {.magic = transfer_magic,
                      .version = lane_version,
                      .request_bytes = way == Way::receives ? bytes : 0,
                      .response_bytes = way == Way::sends ? bytes : 0});
}

Result<UcxTransferListener> UcxTransferListener::listen(UcxContext& context,
                                                        const Options& options) {
  auto guests = Guests::listen({.address = options.address,
                                .magic = transfer_magic,
                                .key = options.key,
                                .hello_timeout = options.hello_timeout});
  if (!guests) return fail(std::move(guests.error()));
  return UcxTransferListener(std::make_unique<State>(context, options, std::move(*guests)));
}

UcxTransferListener::UcxTransferListener(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxTransferListener::UcxTransferListener(UcxTransferListener&& other) noexcept = default;
UcxTransferListener& UcxTransferListener::operator=(UcxTransferListener&& other) noexcept = default;
UcxTransferListener::~UcxTransferListener() = default;
const std::string& UcxTransferListener::address() const { return state_->address(); }
Result<UcxTransferSender> UcxTransferListener::accept(LaneDeadline deadline, int stop) {
  auto link = state_->accept(deadline, stop, State::Way::sends);
  if (!link) return fail(std::move(link.error()));
  return UcxTransferSender(
      std::make_unique<UcxTransferSender::State>(std::move(*link), state_->bytes()));
}
Result<UcxTransferReceiver> UcxTransferListener::accept_sender(LaneDeadline deadline, int stop) {
  auto link = state_->accept(deadline, stop, State::Way::receives);
  if (!link) return fail(std::move(link.error()));
  return UcxTransferReceiver::over(std::move(*link), state_->bytes());
}

}  // namespace orchid::transport
