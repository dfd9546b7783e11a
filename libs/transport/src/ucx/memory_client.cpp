#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "transport/ucx_memory.h"
#include "ucx/memory_request.h"

namespace orchid::transport {

/// Requests are answered in their order.
class UcxMemoryClient::State final : public FrameSink {
 public:
  State(std::unique_ptr<UcxLink> link, ByteCount bytes) : link_(std::move(link)), bytes_(bytes) {
    link_->set_sink(this);
  }
  [[nodiscard]] const char* on_frame(const Frame& frame,
                                     std::span<const std::byte> payload) noexcept override;
  [[nodiscard]] ByteCount size() const { return bytes_; }
  [[nodiscard]] std::optional<std::uint64_t> begin(const Request& request);
  [[nodiscard]] std::uint64_t finished() const { return finished_; }
  void forget(std::uint64_t first, std::uint64_t last);
  bool progress();
  [[nodiscard]] std::uint64_t progress_made() const { return received_bytes_ + heard_; }
  [[nodiscard]] UcxLink& link() { return *link_; }

 private:
  struct Entry {
    Request request;
    std::uint32_t pending = 0;  // sends of it that are not complete
  };
  [[nodiscard]] Entry& entry(std::uint64_t number) {
    return entries_[(number - 1) % memory_window];
  }
  [[nodiscard]] bool changes_what_is_read(const Request& request);
  void settle();

  std::unique_ptr<UcxLink> link_;
  ByteCount bytes_;
  std::array<Entry, memory_window> entries_{};  // by number
  std::uint64_t begun_ = 0;
  std::uint64_t heard_ = 0;  // answers that have come whole
  std::uint64_t finished_ = 0;
  std::uint64_t gets_ = 0;  // begun, and not heard
  std::uint64_t got_ = 0;   // bytes of the answer that is coming
  std::uint64_t received_bytes_ = 0;
};

const char* UcxMemoryClient::State::on_frame(const Frame& frame,
                                             std::span<const std::byte> payload) noexcept {
  if (frame.kind != FrameKind::first && frame.kind != FrameKind::more) return "kind of frame";
  if (heard_ == begun_ || frame.header.request_id != heard_ + 1)
    return "an answer that nobody waits for";
  const Request& asked = entry(heard_ + 1).request;
  if (frame.header.kind != static_cast<std::uint8_t>(asked.op) ||
      frame.header.payload_length != asked.rows.bytes() ||
      frame.header.payload_offset != asked.rows.offset)
    return "an answer to something else";
  if (frame.position != got_ || (frame.kind == FrameKind::first) != (got_ == 0))
    return "order of pieces";
  const std::uint64_t length = asked.op == MemoryOp::get ? asked.rows.bytes() : 0;
  if (payload.size() > length - got_ || (payload.empty() && length != 0))
    return "length of a piece";
  if (!payload.empty() && !asked.target.empty())
    std::memcpy(asked.target.data() + got_, payload.data(), payload.size());
  if (asked.before != nullptr) *asked.before = frame.header.deadline_ns;
  got_ += payload.size();
  received_bytes_ += payload.size();
  if (got_ != length) return nullptr;
  got_ = 0;
  if (asked.op == MemoryOp::get) --gets_;
  ++heard_;
  return nullptr;
}

/// A get is answered when its turn to be sent comes, which may be after what comes behind it has
/// been done.
bool UcxMemoryClient::State::changes_what_is_read(const Request& request) {
  if (gets_ == 0 || request.op == MemoryOp::get) return false;
  for (std::uint64_t number = heard_ + 1; number <= begun_; ++number) {
    const Request& before = entry(number).request;
    if (before.op == MemoryOp::get && before.rows.offset < request.rows.end() &&
        request.rows.offset < before.rows.end())
      return true;
  }
  return false;
}

std::optional<std::uint64_t> UcxMemoryClient::State::begin(const Request& request) {
  if (begun_ - finished_ == memory_window || changes_what_is_read(request)) return std::nullopt;
  const std::uint64_t number = ++begun_;
  Entry& taken = entry(number);
  taken.request = request;
  taken.pending = 0;
  if (request.op == MemoryOp::get) ++gets_;
  Frame frame{.kind = FrameKind::first};
  frame.header = encode(MemoryRequest{.number = number,
                                      .op = request.op,
                                      .rows = request.rows,
                                      .operand = request.operand,
                                      .expected = request.expected});
  const UcxLink::Parcel parcel{
      .frame = frame, .payload = request.source, .pending = &taken.pending};
  if (request.together)
    link_->send_together(parcel);
  else
    link_->send(parcel);
  return number;
}

void UcxMemoryClient::State::settle() {
  while (finished_ != heard_ && entry(finished_ + 1).pending == 0) ++finished_;
}

bool UcxMemoryClient::State::progress() {
  const bool worked = link_->progress();
  settle();
  return worked;
}

void UcxMemoryClient::State::forget(std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t number = std::max(first, finished_ + 1); number <= std::min(last, begun_);
       ++number)
    entry(number).request.target = {};
}

Result<UcxMemoryClient> UcxMemoryClient::connect(UcxContext& context, const Options& options) {
  auto link = connect_link(context,
                           {.address = options.address,
                            .magic = memory_magic,
                            .key = options.key,
                            .deadline = options.deadline},
                           [&](const Welcome& welcome) -> Result<void> {
                             if (welcome.response_bytes == options.bytes.value) return {};
                             return fail(ErrorCode::bad_request,
                                         "the other host has a memory of another size");
                           });
  if (!link) return fail(std::move(link.error()));
  return UcxMemoryClient(std::make_unique<State>(std::move(*link), options.bytes));
}

UcxMemoryClient::UcxMemoryClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxMemoryClient::UcxMemoryClient(UcxMemoryClient&& other) noexcept = default;
UcxMemoryClient& UcxMemoryClient::operator=(UcxMemoryClient&& other) noexcept = default;
UcxMemoryClient::~UcxMemoryClient() = default;
ByteCount UcxMemoryClient::size() const { return state_->size(); }
std::optional<std::uint64_t> UcxMemoryClient::begin(const Request& request) {
  return state_->begin(request);
}
std::uint64_t UcxMemoryClient::finished() const { return state_->finished(); }
void UcxMemoryClient::forget(std::uint64_t first, std::uint64_t last) {
  state_->forget(first, last);
}
bool UcxMemoryClient::progress() { return state_->progress(); }
std::uint64_t UcxMemoryClient::progress_made() const { return state_->progress_made(); }
bool UcxMemoryClient::is_sending() const { return state_->link().is_sending(); }
const std::optional<Failure>& UcxMemoryClient::failure() const { return state_->link().failure(); }
bool UcxMemoryClient::arm() { return state_->link().arm(); }
int UcxMemoryClient::wake_descriptor() const { return state_->link().wake_descriptor(); }

}  // namespace orchid::transport
