#include "ucx/link.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "ucx/context.h"
#include "ucx/message_worker.h"

namespace orchid::transport {

UcxLink::UcxLink(const UcxLibrary& ucx, const ConnectionKey& key, bool over_verbs)
    : ucx_(ucx),
      key_(key),
      over_verbs_(over_verbs),
      slots_(std::make_unique<std::array<Slot, slot_count>>()),
      outbox_(std::make_unique<std::array<Waiting, outbox_limit>>()) {
  for (Slot& slot : *slots_) {
    slot.link = this;
    slot.next_free = std::exchange(free_list_, &slot);
    ++free_slots_;
  }
}

Result<std::unique_ptr<UcxLink>> UcxLink::create(UcxContext& context, const ConnectionKey& key) {
  std::unique_ptr<UcxLink> link(new UcxLink(context.state().library(), key, context.uses_verbs()));
  if (auto opened = link->open(context.state().context()); !opened)
    return fail(std::move(opened.error()).while_doing("a UCX worker"));
  return link;
}

Result<void> UcxLink::open(ucp_context_h context) {
  const MessageHandler handler{.id = message_id, .callback = on_message, .owner = this};
  if (auto opened = open_message_worker(ucx_, context, handler, worker_, wake_descriptor_); !opened)
    return opened;
  auto address = address_of(ucx_, worker_);
  if (!address) return fail(std::move(address.error()));
  address_ = std::move(*address);
  return {};
}

Result<ucs_thread_mode_t> UcxLink::thread_mode() const { return thread_mode_of(ucx_, worker_); }

Result<void> UcxLink::connect(std::span<const std::byte> peer) {
  return connect_to(ucx_, worker_, peer, {.cb = on_error, .arg = this},
                    "connect UCX to the other host", endpoint_);
}

Result<void> UcxLink::wait_for_peer(LaneDeadline deadline) {
  while (!failure_ && !peer_ready_) {
    progress_or_yield();
    if (std::chrono::steady_clock::now() > deadline)
      fail_with({ErrorCode::timed_out, "the other host's UCX did not connect in time"});
  }
  if (failure_) return fail(*failure_);
  return {};
}

Result<void> UcxLink::complete(LaneDeadline deadline) {
  send({.frame = {.kind = FrameKind::ready}});
  ucp_request_param_t parameters{};
  const ucs_status_ptr_t flush = ucx_.ep_flush_nbx(endpoint_, &parameters);
  bool flushed = !UCS_PTR_IS_PTR(flush);
  if (UCS_PTR_IS_ERR(flush))
    fail_with(ucx_.failure(ErrorCode::unreachable, "flush", UCS_PTR_STATUS(flush)));
  while (!failure_ && !(peer_ready_ && flushed)) {
    progress_or_yield();
    if (!flushed && ucx_.request_check_status(flush) != UCS_INPROGRESS) flushed = true;
    if (std::chrono::steady_clock::now() > deadline)
      fail_with({ErrorCode::timed_out, "the other host did not complete the connection in time"});
  }
  if (UCS_PTR_IS_PTR(flush)) ucx_.request_free(flush);
  if (failure_) return fail(*failure_);
  unflushed_ = false;
  return {};
}

UcxLink::~UcxLink() {
  closing_ = true;
  close_endpoint();
  if (worker_ != nullptr) ucx_.worker_destroy(worker_);
}

/// By force: what is under way is given up, the peer sees the connection end.
void UcxLink::close_endpoint() {
  if (endpoint_ == nullptr) return;
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request =
      ucx_.ep_close_nbx(std::exchange(endpoint_, nullptr), &parameters);
  if (!UCS_PTR_IS_PTR(request)) return;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (ucx_.request_check_status(request) == UCS_INPROGRESS &&
         std::chrono::steady_clock::now() < deadline)
    ucx_.worker_progress(worker_);
  ucx_.request_free(request);
}

void UcxLink::fail_with(Failure failure) {
  if (!failure_) failure_ = std::move(failure);
}

void UcxLink::on_error(void* self, ucp_ep_h /*endpoint*/, ucs_status_t status) noexcept {
  auto& link = *static_cast<UcxLink*>(self);
  if (link.closing_) return;
  link.fail_with(link.ucx_.failure(ErrorCode::unreachable, "the other end has gone", status));
}

ucs_status_t UcxLink::on_message(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length,
                                 const ucp_am_recv_param_t* parameters) noexcept {
  auto& link = *static_cast<UcxLink*>(self);
  if (link.closing_ || link.failure_) return UCS_OK;
  // No end of ours sends by rendezvous, or a header of another size: a stranger.
  if ((parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK;
  const auto* bytes = static_cast<const std::byte*>(data);
  Frame frame;
  if (header_length == sizeof(Frame)) {
    std::memcpy(static_cast<void*>(&frame), header, sizeof(frame));
  } else if (header_length == 0 && length >= sizeof(Frame)) {
    std::memcpy(static_cast<void*>(&frame), bytes, sizeof(frame));
    bytes += sizeof(frame);
    length -= sizeof(frame);
  } else {
    return UCS_OK;
  }
  link.take_all(frame, {bytes, length});
  return UCS_OK;
}

/// One frame, or several with their payloads one behind the other.
void UcxLink::take_all(Frame frame, std::span<const std::byte> rest) noexcept {
  while (same_key(frame.key, key_)) {
    const std::size_t size = std::min<std::size_t>(frame.size, rest.size());
    const std::size_t behind = rest.size() - size;
    const bool is_last = behind < sizeof(Frame);
    take(frame, is_last ? rest : rest.first(size));
    if (is_last || failure_) return;
    std::memcpy(static_cast<void*>(&frame), rest.data() + size, sizeof(frame));
    rest = rest.subspan(size + sizeof(frame));
  }
}

/// From here on the sender is our peer, which may be hostile as well.
void UcxLink::take(const Frame& frame, std::span<const std::byte> payload) noexcept {
  const char* wrong = nullptr;
  if (frame.size != payload.size())
    wrong = "length of a frame";
  else if (frame.header.version != call_header_version)
    wrong = "version";
  else if (frame.header.sequence != ++received_frames_)
    wrong = "order of frames";
  else if ((frame.kind == FrameKind::ready) != (received_frames_ == 1))
    wrong = "kind of frame";
  else if (frame.kind == FrameKind::ready)
    peer_ready_ = true;
  else
    wrong = sink_ != nullptr ? sink_->on_frame(frame, payload) : "a call before its time";
  if (wrong != nullptr)
    fail_with({ErrorCode::bad_request,
               "the other end of the lane sent nonsense (" + std::string(wrong) + ")"});
}

void UcxLink::stamp(Frame& frame, std::size_t size) {
  frame.key = key_;
  frame.size = static_cast<std::uint32_t>(size);
  frame.header.sequence = ++sent_frames_;
}

UcxLink::Slot* UcxLink::take_slot(const Frame& frame, std::size_t size, std::uint32_t* pending) {
  Slot* slot = free_list_;
  free_list_ = slot->next_free;
  --free_slots_;
  unflushed_ = true;
  slot->pending = pending;
  slot->large = false;
  slot->frame = frame;
  stamp(slot->frame, size);
  if (pending != nullptr) ++*pending;
  return slot;
}

void UcxLink::free_slot(Slot* slot) {
  if (slot->pending != nullptr) --*slot->pending;
  if (slot->large) --large_in_flight_;
  slot->next_free = std::exchange(free_list_, slot);
  ++free_slots_;
}

void UcxLink::on_sent(void* request, ucs_status_t status, void* user_data) noexcept {
  auto* slot = static_cast<Slot*>(user_data);
  UcxLink& link = *slot->link;
  link.free_slot(slot);
  if (status != UCS_OK && !link.closing_)
    link.fail_with(link.ucx_.failure(ErrorCode::unreachable, "send to the other end", status));
  link.ucx_.request_free(request);
}

void UcxLink::finish(ucs_status_ptr_t request, Slot* slot) {
  if (UCS_PTR_IS_PTR(request)) return;  // on_sent follows
  free_slot(slot);
  if (UCS_PTR_IS_ERR(request))
    fail_with(
        ucx_.failure(ErrorCode::unreachable, "send to the other end", UCS_PTR_STATUS(request)));
}

/// Frame and payload as one piece: the shortest way through UCX, and nothing to wait for.
void UcxLink::send_copied(const Frame& frame, std::span<const std::byte> payload,
                          std::uint32_t* pending) {
  Slot* slot = take_slot(frame, payload.size(), pending);
  if (!payload.empty()) std::memcpy(slot->payload.data(), payload.data(), payload.size());
  send_slot(slot, {});
}

void UcxLink::send_in_place(const Frame& frame, std::span<const std::byte> payload,
                            std::uint32_t* pending) {
  Slot* slot = take_slot(frame, payload.size(), pending);
  slot->large = true;
  ++large_in_flight_;
  send_slot(slot, payload);
}

/// `behind`: what follows the slot's frame; empty: what the slot itself has of its payload.
void UcxLink::send_slot(Slot* slot, std::span<const std::byte> behind) {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.flags = UCP_AM_SEND_FLAG_EAGER;
  parameters.cb.send = on_sent;
  parameters.user_data = slot;
  static_assert(offsetof(Slot, payload) == offsetof(Slot, frame) + sizeof(Frame));
  const bool in_one_piece = behind.empty();
  finish(ucx_.am_send_nbx(endpoint_, message_id, in_one_piece ? nullptr : &slot->frame,
                          in_one_piece ? 0 : sizeof(Frame),
                          in_one_piece ? static_cast<const void*>(&slot->frame) : behind.data(),
                          in_one_piece ? sizeof(Frame) + slot->frame.size : behind.size(),
                          &parameters),
         slot);
}

/// What it takes is copied at once: nobody waits for these bytes.
void UcxLink::send_together(const Parcel& parcel) {
  const auto payload = parcel.payload;
  const std::size_t size = sizeof(Frame) + payload.size();
  const bool is_small = payload.size() <= small_payload;
  if (bundle_ != nullptr && (!is_small || bundle_->bundle.size() + size > chunk)) send_bundle();
  if (failure_) return;
  if (bundle_ != nullptr) {
    Frame frame = parcel.frame;
    stamp(frame, payload.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(&frame);
    bundle_->bundle.insert(bundle_->bundle.end(), bytes, bytes + sizeof(frame));
  } else {
    if (!is_small || !sends_at_once(payload.size()) || large_in_flight_ == chunks_in_flight)
      return send(parcel);
    bundle_ = take_slot(parcel.frame, payload.size(), nullptr);
    bundle_->large = true;
    ++large_in_flight_;
    bundle_->bundle.clear();
    bundle_->bundle.reserve(chunk);
  }
  bundle_->bundle.insert(bundle_->bundle.end(), payload.begin(), payload.end());
}

void UcxLink::send_bundle() {
  Slot* slot = std::exchange(bundle_, nullptr);
  if (failure_) return free_slot(slot);
  const std::span<const std::byte> bundle = slot->bundle;
  if (bundle.size() != slot->frame.size) return send_slot(slot, bundle);
  std::ranges::copy(bundle, slot->payload.begin());  // one frame alone
  send_slot(slot, {});
}

void UcxLink::send(const Parcel& parcel) {
  if (bundle_ != nullptr) send_bundle();
  if (failure_) return;
  if (sends_at_once(parcel.payload.size())) {
    send_copied(parcel.frame, parcel.payload, parcel.pending);
    return;
  }
  if (outbox_next_ - outbox_first_ == outbox_limit) {
    fail_with({ErrorCode::internal, "more frames wait than a lane can have"});
    return;
  }
  Waiting& waiting = (*outbox_)[outbox_next_++ % outbox_limit];
  waiting.parcel = parcel;
  waiting.sent = 0;
  waiting.started = false;
  if (parcel.payload.size() <= waiting.copy.size() && !parcel.payload.empty()) {
    std::memcpy(waiting.copy.data(), parcel.payload.data(), parcel.payload.size());
    waiting.parcel.payload = std::span(waiting.copy).first(parcel.payload.size());
  }
  if (parcel.pending != nullptr) ++*parcel.pending;
  pump();
}

/// One frame of a parcel; false: no room for it now.
bool UcxLink::send_some(Waiting& waiting) {
  const auto rest = waiting.parcel.payload.subspan(waiting.sent);
  Frame frame = waiting.parcel.frame;
  if (waiting.started) frame.kind = FrameKind::more;
  frame.position = waiting.sent;
  if (free_slots_ == 0) return false;
  if (rest.size() <= small_payload) {
    send_copied(frame, rest, waiting.parcel.pending);
    waiting.sent += rest.size();
  } else {
    if (large_in_flight_ == chunks_in_flight) return false;
    const auto piece = rest.first(std::min(rest.size(), chunk));
    send_in_place(frame, piece, waiting.parcel.pending);
    waiting.sent += piece.size();
  }
  waiting.started = true;
  return true;
}

void UcxLink::pump() {
  while (outbox_first_ != outbox_next_ && !failure_) {
    Waiting& waiting = (*outbox_)[outbox_first_ % outbox_limit];
    if (!send_some(waiting)) return;
    if (waiting.sent != waiting.parcel.payload.size()) continue;
    if (waiting.parcel.pending != nullptr) --*waiting.parcel.pending;
    ++outbox_first_;
  }
}

void UcxLink::progress_or_yield() {
  if (!progress()) ::sched_yield();
}

bool UcxLink::progress() {
  if (bundle_ != nullptr) send_bundle();
  const bool worked = ucx_.worker_progress(worker_) != 0;
  if (outbox_first_ != outbox_next_) pump();
  return worked;
}

bool UcxLink::arm() {
  while (progress()) {
  }
  return !failure_ && ucx_.worker_arm(worker_) == UCS_OK;
}

}  // namespace orchid::transport
