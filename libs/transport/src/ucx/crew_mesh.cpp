#include "ucx/crew_mesh.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "crew/crew_rooms.h"
#include "local/lane_signal.h"
#include "transport/crew_end.h"
#include "transport/payload_rooms.h"
#include "ucx/frame.h"
#include "ucx/message_worker.h"
#include "ucx/told_to_stop.h"

namespace orchid::transport {

Result<std::unique_ptr<UcxCrewMesh>> UcxCrewMesh::open(UcxContext& context,
                                                       const Options& options) {
  std::unique_ptr<UcxCrewMesh> mesh(new UcxCrewMesh(context.state().library(), options.member));
  if (auto started = mesh->start(context.state().context(), options); !started)
    return fail(std::move(started.error()).while_doing("UCX for a crew"));
  return mesh;
}

Result<void> UcxCrewMesh::start(ucp_context_h context, const Options& options) {
  for (const Peer& one : options.peers) {
    if (one.member > crew::most_members || one.member == member_ || at(one.member).is_peer)
      return fail(ErrorCode::bad_request, "a crew's members have numbers of their own, up to 64");
    OnePeer& peer = at(one.member);
    peer = {.mesh = this, .member = one.member, .is_peer = true, .key = one.key};
    auto memory = Slab::map(CrewLayout::pair_bytes);
    if (!memory) return fail(std::move(memory.error()));
    peer.memory.emplace(std::move(*memory));
    peer.in = memory_of(one.member) + (one.member < member_ ? 0 : CrewLayout::direction_bytes);
  }
  return open_message_worker(ucx_, context,
                             {.id = message_id, .callback = on_message, .owner = this}, worker_,
                             wake_descriptor_);
}

Result<std::vector<std::byte>> UcxCrewMesh::address() const { return address_of(ucx_, worker_); }

Result<void> UcxCrewMesh::connect(std::uint32_t peer, std::span<const std::byte> address) {
  return connect_to(ucx_, worker_, address, {.cb = on_error, .arg = &at(peer)},
                    "connect UCX to another member", at(peer).endpoint);
}

void UcxCrewMesh::say_ready(std::uint32_t peer) {
  send_frame(at(peer), {.kind = MeshFrameKind::ready}, {});
}

Result<void> UcxCrewMesh::flush(LaneDeadline deadline, int stop) {
  ucp_request_param_t parameters{};
  for (OnePeer& peer : peers_) {
    if (peer.endpoint == nullptr || failure_) continue;
    const ucs_status_ptr_t flush = ucx_.ep_flush_nbx(peer.endpoint, &parameters);
    if (UCS_PTR_IS_ERR(flush))
      fail_with(ucx_.failure(ErrorCode::unreachable, "flush", UCS_PTR_STATUS(flush)));
    if (!UCS_PTR_IS_PTR(flush)) continue;
    while (!failure_ && ucx_.request_check_status(flush) == UCS_INPROGRESS) {
      if (!progress()) ::sched_yield();
      if (std::chrono::steady_clock::now() > deadline)
        fail_with({ErrorCode::timed_out, "the crew's other hosts took too long to connect"});
      if (is_told_to_stop(stop)) fail_with({ErrorCode::cancelled, "told to stop wiring a crew"});
    }
    ucx_.request_free(flush);
  }
  if (failure_) return fail(*failure_);
  return {};
}

UcxCrewMesh::~UcxCrewMesh() {
  closing_ = true;
  close_endpoints();
  if (worker_ != nullptr) ucx_.worker_destroy(worker_);
}

/// By force: what is under way is given up, the peers see their connections end.
void UcxCrewMesh::close_endpoints() {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
  std::vector<ucs_status_ptr_t> requests;
  for (OnePeer& peer : peers_) {
    if (peer.endpoint == nullptr) continue;
    const ucs_status_ptr_t request =
        ucx_.ep_close_nbx(std::exchange(peer.endpoint, nullptr), &parameters);
    if (UCS_PTR_IS_PTR(request)) requests.push_back(request);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (const ucs_status_ptr_t request : requests) {
    while (ucx_.request_check_status(request) == UCS_INPROGRESS &&
           std::chrono::steady_clock::now() < deadline)
      ucx_.worker_progress(worker_);
    ucx_.request_free(request);
  }
}

std::vector<std::uint32_t> UcxCrewMesh::peers() const {
  std::vector<std::uint32_t> numbers;
  for (const OnePeer& peer : peers_)
    if (peer.is_peer) numbers.push_back(peer.member);
  return numbers;
}

void UcxCrewMesh::on_error(void* peer, ucp_ep_h /*endpoint*/, ucs_status_t status) noexcept {
  auto& one = *static_cast<OnePeer*>(peer);
  if (one.mesh->closing_) return;
  one.mesh->fail_with(one.mesh->ucx_.failure(
      ErrorCode::unreachable, fmt::format("member {} has gone", one.member), status));
}

ucs_status_t UcxCrewMesh::on_message(void* self, const void* /*header*/, std::size_t header_length,
                                     void* data, std::size_t length,
                                     const ucp_am_recv_param_t* parameters) noexcept {
  auto& mesh = *static_cast<UcxCrewMesh*>(self);
  // No member of ours sends by rendezvous, or with a header of UCX's: a stranger.
  if (mesh.closing_ || header_length != 0 || length < sizeof(MeshFrame) ||
      (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
    return UCS_OK;
  const auto* bytes = static_cast<const std::byte*>(data);
  MeshFrame frame;
  std::memcpy(static_cast<void*>(&frame), bytes, sizeof(frame));
  mesh.take(frame, {bytes + sizeof(frame), length - sizeof(frame)});
  return UCS_OK;
}

/// Whose key it has is our peer, which may be hostile as well.
void UcxCrewMesh::take(const MeshFrame& frame, std::span<const std::byte> bytes) noexcept {
  if (frame.from > crew::most_members) return;
  OnePeer& peer = at(frame.from);
  if (!peer.is_peer || !same_key(frame.key, peer.key)) return;
  if (const char* wrong = take_frame(peer, frame, bytes))
    fail_with({ErrorCode::bad_request,
               fmt::format("member {} wrote nonsense into its crew ({})", peer.member, wrong)});
}

const char* UcxCrewMesh::take_frame(OnePeer& peer, const MeshFrame& frame,
                                    std::span<const std::byte> bytes) noexcept {
  if (frame.size != bytes.size()) return "length of a frame";
  if (frame.header.sequence != ++peer.received) return "order of frames";
  if ((frame.kind == MeshFrameKind::ready) != (peer.received == 1)) return "kind of frame";
  if ((frame.kind == MeshFrameKind::more) != (peer.total != 0)) return "kind of frame";
  switch (frame.kind) {
    case MeshFrameKind::ready:
      peer.ready = true;
      return nullptr;
    case MeshFrameKind::message:
      if (const char* wrong = begin_message(peer, frame.header)) return wrong;
      return take_bytes(peer, bytes);
    case MeshFrameKind::more:
      return take_bytes(peer, bytes);
    case MeshFrameKind::cancelled: {
      std::uint64_t& said = cancelled_[crew::place_of(frame.header.request_id)];
      if (said == 0 && frame.header.request_id != 0) ++cancelled_count_;
      said = std::max(said, frame.header.request_id);
      return nullptr;
    }
    case MeshFrameKind::hungry:
      if (peer.member == crew::client_member || member_ == crew::client_member)
        return "kind of frame";
      peer.hungry = true;
      return nullptr;
  }
  return "kind of frame";
}

/// What else it says is looked at by whoever takes it out of the ring.
const char* UcxCrewMesh::begin_message(OnePeer& peer, const CallHeader& header) noexcept {
  if (header.request_id == 0) return "request id";
  if (crew::is_of_loan(header.kind) && header.held_answers >= crew::loans) return "kind";
  if (header.payload_length > crew::payload_size.value) return "length";
  const std::uint64_t log = header.payload_offset - header.payload_length;
  const bool has_log = (header.flags & flag_log) != 0;
  if (header.payload_offset < header.payload_length ||
      (has_log ? log < sizeof(CrewLogPrefix) || log > sizeof(CrewLogPrefix) + crew::log_size.value
               : log != 0))
    return "length";
  if (peer.written - crew_ring_at(peer.in).taken.load(lane_orders.see_released) >=
      crew::ring_entries)
    return "more than its window";
  // A child is what it was hungry for: said again, it asks for more.
  if (header.kind == static_cast<std::uint8_t>(crew::MessageKind::child)) peer.was_told = false;
  peer.header = header;
  peer.got = 0;
  peer.total = header.payload_offset;
  if (peer.total == 0) finish_message(peer);
  return nullptr;
}

const char* UcxCrewMesh::take_bytes(OnePeer& peer, std::span<const std::byte> bytes) noexcept {
  if (bytes.empty() && peer.total == 0) return nullptr;
  if (bytes.empty() || bytes.size() > peer.total - peer.got) return "length of a frame";
  const CallHeader& header = peer.header;
  const std::size_t payload = header.payload_length;
  const bool is_inline = peer.total == payload && payload <= inline_bytes;
  std::byte* const to =
      is_inline ? crew_ring_at(peer.in).entries[peer.written % crew::ring_entries].payload
                : crew_room_at(peer.in, crew_room_number(header, header.held_answers));
  const std::size_t of_payload =
      peer.got < payload ? std::min(bytes.size(), payload - peer.got) : 0;
  if (of_payload != 0) std::memcpy(to + peer.got, bytes.data(), of_payload);
  peer.got += of_payload;
  const auto of_log = bytes.subspan(of_payload);
  if (!of_log.empty())
    std::memcpy(to + align_to_line(payload) + (peer.got - payload), of_log.data(), of_log.size());
  peer.got += of_log.size();
  if (peer.got == peer.total) finish_message(peer);
  return nullptr;
}

void UcxCrewMesh::finish_message(OnePeer& peer) noexcept {
  CallHeader header = peer.header;
  const bool is_inline =
      peer.total == header.payload_length && header.payload_length <= inline_bytes;
  header.payload_offset = is_inline ? inline_payload : 0;
  publish(crew_ring_at(peer.in).entries[peer.written % crew::ring_entries], header, peer.written);
  ++peer.written;
  peer.total = 0;
}

void UcxCrewMesh::on_sent(void* request, ucs_status_t status, void* user_data) noexcept {
  auto* slot = static_cast<Slot*>(user_data);
  UcxCrewMesh& mesh = *slot->mesh;
  mesh.give_back(*slot);
  if (status != UCS_OK && !mesh.closing_)
    mesh.fail_with(mesh.ucx_.failure(ErrorCode::unreachable, "send to another member", status));
  mesh.ucx_.request_free(request);
}

void UcxCrewMesh::give_back(Slot& slot) {
  slot.next_free = std::exchange(free_list_, &slot);
  --sending_;
  if (OnePeer* const peer = std::exchange(slot.cancels_of, nullptr)) peer->cancel_under_way = false;
}

void UcxCrewMesh::send_frame(OnePeer& peer, MeshFrame frame, std::span<const std::byte> first,
                             std::span<const std::byte> second) {
  if (failure_ || peer.endpoint == nullptr) return;
  if (free_list_ == nullptr) {
    free_list_ = &slots_.emplace_back();
    free_list_->mesh = this;
  }
  Slot* const slot = free_list_;
  frame.key = peer.key;
  frame.from = static_cast<std::uint8_t>(member_);
  frame.size = static_cast<std::uint32_t>(first.size() + second.size());
  frame.header.sequence = peer.sent + 1;
  const auto* bytes = reinterpret_cast<const std::byte*>(&frame);
  slot->bytes.clear();
  slot->bytes.reserve(sizeof(frame) + frame.size);
  slot->bytes.insert(slot->bytes.end(), bytes, bytes + sizeof(frame));
  slot->bytes.insert(slot->bytes.end(), first.begin(), first.end());
  slot->bytes.insert(slot->bytes.end(), second.begin(), second.end());
  free_list_ = slot->next_free;  // nothing fails from here on
  if (frame.kind == MeshFrameKind::cancelled) {
    slot->cancels_of = &peer;
    peer.cancel_under_way = true;
  }
  ++sending_;
  ++peer.sent;
  ucp_request_param_t parameters{};
  parameters.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.flags = UCP_AM_SEND_FLAG_EAGER;
  parameters.cb.send = on_sent;
  parameters.user_data = slot;
  const ucs_status_ptr_t request = ucx_.am_send_nbx(
      peer.endpoint, message_id, nullptr, 0, slot->bytes.data(), slot->bytes.size(), &parameters);
  if (UCS_PTR_IS_PTR(request)) return;  // on_sent follows
  give_back(*slot);
  if (UCS_PTR_IS_ERR(request))
    fail_with(
        ucx_.failure(ErrorCode::unreachable, "send to another member", UCS_PTR_STATUS(request)));
}

void UcxCrewMesh::send(std::uint32_t to, const CallHeader& header,
                       std::span<const std::byte> payload, const CrewLog& log) {
  OnePeer& peer = at(to);
  std::vector<std::byte> log_bytes;
  MeshFrame frame{.kind = MeshFrameKind::message, .header = header};
  frame.header.payload_length = payload.size();
  if (!log.empty()) {
    const std::string_view text = log.text.substr(0, crew::log_size.value);
    const CrewLogPrefix prefix{.dropped = log.dropped + (log.text.size() - text.size()),
                               .length = text.size()};
    log_bytes.resize(sizeof(prefix) + text.size());
    std::memcpy(log_bytes.data(), &prefix, sizeof(prefix));
    std::memcpy(log_bytes.data() + sizeof(prefix), text.data(), text.size());
    frame.header.flags |= flag_log;
  }
  const std::size_t total = payload.size() + log_bytes.size();
  frame.header.payload_offset = total;
  std::span<const std::byte> log_rest(log_bytes);
  std::size_t sent = 0;
  do {
    const auto first = payload.first(std::min(payload.size(), chunk));
    const auto second = log_rest.first(std::min(log_rest.size(), chunk - first.size()));
    send_frame(peer, frame, first, second);
    payload = payload.subspan(first.size());
    log_rest = log_rest.subspan(second.size());
    sent += first.size() + second.size();
    frame.kind = MeshFrameKind::more;
  } while (sent < total);
}

/// A place has one open call at a time: of one with a smaller number nobody runs anything any more.
void UcxCrewMesh::tell_cancelled(std::uint64_t request_id) {
  for (OnePeer& peer : peers_) {
    if (!peer.is_peer || peer.member == crew::client_member) continue;
    std::uint64_t& said = peer.cancels[crew::place_of(request_id)];
    if (said == 0) {
      ++peer.cancel_count;
      ++cancels_waiting_;
    }
    said = std::max(said, request_id);
    send_cancels(peer);
  }
}

/// All that the kernel takes, and one more.
void UcxCrewMesh::send_cancels(OnePeer& peer) {
  while (peer.cancel_count != 0 && !peer.cancel_under_way && !failure_) {
    std::uint64_t& said = peer.cancels[peer.next_cancel];
    peer.next_cancel = (peer.next_cancel + 1) % peer.cancels.size();
    if (said == 0) continue;
    MeshFrame frame{.kind = MeshFrameKind::cancelled};
    frame.header.request_id = std::exchange(said, 0);
    --peer.cancel_count;
    --cancels_waiting_;
    send_frame(peer, frame, {});
  }
}

std::optional<std::uint64_t> UcxCrewMesh::take_cancelled() {
  if (cancelled_count_ == 0) return std::nullopt;
  const auto said = std::ranges::find_if(cancelled_, [](std::uint64_t id) { return id != 0; });
  --cancelled_count_;
  return std::exchange(*said, 0);
}

void UcxCrewMesh::tell_hungry() {
  for (OnePeer& peer : peers_)
    if (peer.is_peer && peer.member != crew::client_member && !std::exchange(peer.was_told, true))
      send_frame(peer, {.kind = MeshFrameKind::hungry}, {});
}

bool UcxCrewMesh::claim_hungry(std::uint32_t member) {
  return std::exchange(at(member).hungry, false);
}

bool UcxCrewMesh::progress() {
  const bool worked = ucx_.worker_progress(worker_) != 0;
  if (cancels_waiting_ != 0)
    for (OnePeer& peer : peers_) send_cancels(peer);
  return worked;
}

bool UcxCrewMesh::arm() {
  while (progress()) {
  }
  return !failure_ && ucx_.worker_arm(worker_) == UCS_OK;
}

}  // namespace orchid::transport
