#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "transport/ucx_memory.h"
#include "ucx/guests.h"
#include "ucx/memory_request.h"
#include "ucx/told_to_stop.h"

namespace orchid::transport {
namespace {

/// The sign to stop is not looked at more often, as long as there is work.
constexpr std::chrono::milliseconds stop_look_interval{5};
/// UCX may have something to do that wakes nobody: its keepalive.
constexpr std::chrono::milliseconds longest_server_sleep{100};
/// As long as going to sleep and waking up takes: who waits longer sleeps.
constexpr std::chrono::microseconds server_spin_time{50};

/// `act(place in memory, place among the request's bytes, length)` for what of a request's bytes
/// from `position` on, `length` of them, lies in one piece.
template <typename Act>
void for_each_piece(const MemoryRows& rows, std::uint64_t position, std::uint64_t length, Act act) {
  for (std::uint64_t done = 0; done != length;) {
    const std::uint64_t at = position + done;
    const std::uint64_t in_row = at % rows.row;
    const std::uint64_t piece = std::min(rows.row - in_row, length - done);
    act(rows.offset + at / rows.row * rows.stride + in_row, done, piece);
    done += piece;
  }
}

}  // namespace

/// What changes memory is done when it arrives, what reads is sent when there is room for it: a
/// client does not overtake its own gets.
class UcxMemoryServer::State final : public FrameSink {
 public:
  State(std::unique_ptr<UcxLink> link, ByteCount bytes) : link_(std::move(link)), bytes_(bytes) {
    link_->set_sink(this);
  }
  [[nodiscard]] const char* on_frame(const Frame& frame,
                                     std::span<const std::byte> payload) noexcept override;
  [[nodiscard]] Result<void> serve(std::span<std::byte> memory, const Pace& pace);

 private:
  /// A request that has no answer yet, or whose answer is being sent.
  struct Place {
    MemoryRequest request;
    std::uint64_t before = 0;         // of an atomic
    std::uint32_t pending = 0;        // sends of the answer that are not complete
    std::vector<std::byte> gathered;  // of a get with rows
  };
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] const char* take_bytes(const Frame& frame, std::span<const std::byte> payload);
  void change(Place& place) const;
  [[nodiscard]] bool answer_next(bool together);
  [[nodiscard]] bool answer_all();
  [[nodiscard]] std::span<const std::byte> bytes_of(Place& place) const;
  void wait(const Pace& pace, Clock::time_point now);

  std::unique_ptr<UcxLink> link_;
  ByteCount bytes_;
  std::span<std::byte> memory_;
  std::array<Place, memory_window> places_;  // by number
  std::uint64_t received_ = 0;               // requests that have come whole
  std::uint64_t answered_ = 0;
  std::uint64_t got_ = 0;  // bytes of a put that has not come whole
  bool in_put_ = false;
  Clock::time_point worked_at_;
  Clock::time_point looked_at_;
};

const char* UcxMemoryServer::State::on_frame(const Frame& frame,
                                             std::span<const std::byte> payload) noexcept {
  if (memory_.size() != bytes_.value) return "a request before its time";
  if (frame.kind == FrameKind::more && in_put_) return take_bytes(frame, payload);
  if (frame.kind != FrameKind::first || in_put_) return "kind of frame";
  const auto [request, wrong] = decode(frame.header, bytes_);
  if (wrong != nullptr) return wrong;
  if (request.number != received_ + 1) return "request id";
  if (received_ - answered_ == memory_window) return "too many requests";
  Place& place = places_[received_ % memory_window];
  place.request = request;
  if (request.op == MemoryOp::put) {
    in_put_ = true;
    got_ = 0;
    return take_bytes(frame, payload);
  }
  if (!payload.empty()) return "bytes that belong to nothing";
  if (request.op != MemoryOp::get) change(place);
  ++received_;
  return nullptr;
}

const char* UcxMemoryServer::State::take_bytes(const Frame& frame,
                                               std::span<const std::byte> payload) {
  const MemoryRows& rows = places_[received_ % memory_window].request.rows;
  if (frame.header.request_id != received_ + 1) return "request id";
  if (frame.position != got_) return "order of pieces";
  if (payload.empty() || payload.size() > rows.bytes() - got_) return "length of a piece";
  for_each_piece(rows, got_, payload.size(),
                 [&](std::uint64_t at, std::uint64_t from, std::uint64_t length) {
                   std::memcpy(memory_.data() + at, payload.data() + from, length);
                 });
  got_ += payload.size();
  in_put_ = got_ != rows.bytes();
  if (!in_put_) ++received_;
  return nullptr;
}

/// One thread serves one client: nobody else changes these bytes meanwhile.
void UcxMemoryServer::State::change(Place& place) const {
  const MemoryRequest& request = place.request;
  std::byte* const at = memory_.data() + request.rows.offset;
  std::memcpy(&place.before, at, sizeof(place.before));
  const bool swaps = request.op == MemoryOp::compare_swap;
  if (swaps && place.before != request.expected) return;
  const std::uint64_t after = swaps ? request.operand : place.before + request.operand;
  std::memcpy(at, &after, sizeof(after));
}

/// From where they lie, if they lie in one piece.
std::span<const std::byte> UcxMemoryServer::State::bytes_of(Place& place) const {
  const MemoryRows& rows = place.request.rows;
  if (rows.count == 1) return memory_.subspan(rows.offset, rows.row);
  place.gathered.resize(rows.bytes());
  for_each_piece(rows, 0, rows.bytes(),
                 [&](std::uint64_t at, std::uint64_t to, std::uint64_t length) {
                   std::memcpy(place.gathered.data() + to, memory_.data() + at, length);
                 });
  return place.gathered;
}

bool UcxMemoryServer::State::answer_next(bool together) {
  if (answered_ == received_) return false;
  Place& place = places_[answered_ % memory_window];
  if (place.pending != 0) return false;
  Frame frame{.kind = FrameKind::first};
  frame.header = encode(place.request);
  std::span<const std::byte> payload;
  if (place.request.op == MemoryOp::get)
    payload = bytes_of(place);
  else if (place.request.op != MemoryOp::put)
    frame.header.deadline_ns = place.before;
  ++answered_;
  const UcxLink::Parcel parcel{.frame = frame, .payload = payload, .pending = &place.pending};
  if (together)
    link_->send_together(parcel);
  else
    link_->send(parcel);
  return true;
}

/// The answers to requests that have come together go together.
bool UcxMemoryServer::State::answer_all() {
  const bool together = received_ - answered_ > 1;
  bool any = false;
  while (answer_next(together)) any = true;
  return any;
}

void UcxMemoryServer::State::wait(const Pace& pace, Clock::time_point now) {
  if (pace.wait == WaitMode::hot) return;
  if (pace.wait == WaitMode::adaptive && now - worked_at_ < server_spin_time) return;
  if (!link_->arm() || answered_ != received_) return;
  std::array entries{pollfd{.fd = link_->wake_descriptor(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = pace.stop, .events = POLLIN, .revents = 0}};
  ::poll(entries.data(), entries.size(), static_cast<int>(longest_server_sleep.count()));
}

Result<void> UcxMemoryServer::State::serve(std::span<std::byte> memory, const Pace& pace) {
  if (memory.size() != bytes_.value)
    return fail(ErrorCode::internal, "the memory has another size than was listened for");
  memory_ = memory;
  worked_at_ = Clock::now();
  for (;;) {
    bool worked = link_->progress();
    if (answer_all()) worked = true;
    if (const auto& failure = link_->failure(); failure) {
      if (failure->code == ErrorCode::bad_request) return fail(*failure);
      return {};
    }
    const auto now = Clock::now();
    if (worked) worked_at_ = now;
    if (now >= looked_at_ + stop_look_interval) {
      looked_at_ = now;
      if (is_told_to_stop(pace.stop)) return fail(ErrorCode::cancelled, "told to end");
    }
    if (!worked) wait(pace, now);
  }
}

UcxMemoryServer::UcxMemoryServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxMemoryServer::UcxMemoryServer(UcxMemoryServer&& other) noexcept = default;
UcxMemoryServer& UcxMemoryServer::operator=(UcxMemoryServer&& other) noexcept = default;
UcxMemoryServer::~UcxMemoryServer() = default;
Result<void> UcxMemoryServer::serve(std::span<std::byte> memory, const Pace& pace) {
  return state_->serve(memory, pace);
}

class UcxMemoryListener::State {
 public:
  State(UcxContext& context, const Options& options, Guests guests)
      : context_(context), options_(options), guests_(std::move(guests)) {}
  [[nodiscard]] const std::string& address() const { return guests_.address(); }
  [[nodiscard]] Result<UcxMemoryServer> accept(LaneDeadline deadline, int stop);

 private:
  UcxContext& context_;
  Options options_;
  Guests guests_;
};

Result<UcxMemoryServer> UcxMemoryListener::State::accept(LaneDeadline deadline, int stop) {
  auto guest = guests_.wait(deadline, stop);
  if (!guest) return fail(std::move(guest.error()));
  Door door(std::move(*guest), std::chrono::steady_clock::now() + options_.hello_timeout);
  auto link = accept_link(context_, options_.key, door,
                          {.magic = memory_magic,
                           .version = lane_version,
                           .request_bytes = 0,
                           .response_bytes = options_.bytes.value});
  if (!link) return fail(std::move(link.error()));
  return UcxMemoryServer(
      std::make_unique<UcxMemoryServer::State>(std::move(*link), options_.bytes));
}

Result<UcxMemoryListener> UcxMemoryListener::listen(UcxContext& context, const Options& options) {
  auto guests = Guests::listen({.address = options.address,
                                .magic = memory_magic,
                                .key = options.key,
                                .hello_timeout = options.hello_timeout});
  if (!guests) return fail(std::move(guests.error()));
  return UcxMemoryListener(std::make_unique<State>(context, options, std::move(*guests)));
}

UcxMemoryListener::UcxMemoryListener(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxMemoryListener::UcxMemoryListener(UcxMemoryListener&& other) noexcept = default;
UcxMemoryListener& UcxMemoryListener::operator=(UcxMemoryListener&& other) noexcept = default;
UcxMemoryListener::~UcxMemoryListener() = default;
const std::string& UcxMemoryListener::address() const { return state_->address(); }
Result<UcxMemoryServer> UcxMemoryListener::accept(LaneDeadline deadline, int stop) {
  return state_->accept(deadline, stop);
}

}  // namespace orchid::transport
