// The conversation with the executor: how a worker comes and loads modules.
#include <chrono>

#include "foundation/host_addresses.h"
#include "lease/lease_core.h"
#include "lease/lease_threads.h"
#include "lease/open_lane.h"
#include "lease/worker_lane.h"
#include "problem.h"

namespace orchid::sdk {
namespace {

// For a connection of its own each: one for the conversation, one for the lane.
constexpr std::chrono::seconds connect_within{5};

}  // namespace

void WorkerLane::open(std::string_view lane) {
  const auto kind = choose_lane(worker_, lane, own_boot_id());
  if (!kind) return die(kind.error());
  kind_ = *kind;
  tcp_only_ = lane == "tcp";
  if (kind_ == LaneKind::ucx) return connect_remote();
  auto socket = LaneSocket::connect_local(worker_.lane_socket);
  if (socket) return use_socket(std::move(*socket));
  // A container of this host has the same boot id, and its files elsewhere.
  if (lane != "auto" || worker_.lane_address.empty()) return die(socket.error());
  kind_ = LaneKind::ucx;
  connect_remote();
}

void WorkerLane::use_socket(LaneSocket socket) {
  socket_ = std::move(socket);
  if (const auto threads = core_.threads())
    socket_watch_ = threads->lanes.watch(
        socket_->descriptor(), core_.weak_from_this(), *this,
        socket_->is_remote() ? LaneThread::Events::both : LaneThread::Events::readable);
  tell(LaneClaim{.lease = worker_.lease, .secret = worker_.secret});
}

void WorkerLane::connect_remote() {
  const auto threads = core_.threads();
  if (threads == nullptr) return;
  threads->connector.post([weak = core_.weak_from_this(), lane = this, worker = worker_] {
    if (const auto core = weak.lock(); core == nullptr || core->ended()) return;
    auto socket = connect_remote_socket(worker, std::chrono::steady_clock::now() + connect_within);
    if (const auto core = weak.lock()) lane->arrive(std::move(socket));
  });
}

void WorkerLane::tell(const LaneMessage& message, const std::vector<int>& descriptors) {
  // A socket that is full or closed becomes readable soon; there we learn of it.
  if (socket_) (void)socket_->send(encode(message), descriptors);
}

void WorkerLane::read_socket() {
  while (socket_) {
    auto packet = socket_->receive();
    if (!packet) return die(packet.error());
    if (!*packet) return;
    handle(std::move(**packet));
  }
}

void WorkerLane::handle(Packet packet) {
  auto message = parse_lane_message(packet.text);
  if (!message) return die(message.error());
  if (const auto* m = std::get_if<LaneClaimed>(&*message))
    return claimed(*m, std::move(packet.descriptors));
  if (const auto* m = std::get_if<LaneSlot>(&*message)) return loaded(*m);
  if (const auto* m = std::get_if<LaneRejected>(&*message)) return rejected(*m);
  if (auto* m = std::get_if<LaneEnded>(&*message)) return worker_ended(std::move(*m));
  if (const auto* m = std::get_if<LaneNeedCode>(&*message)) {
    for (const auto& code : core_.codes())
      if (code->digest == m->digest && code->number < slots_.size())
        slots_[code->number].state = SlotState::needs_code;
    return announce();
  }
  if (const auto* m = std::get_if<LaneRefused>(&*message)) {
    core_.lane_refused(*m);
    return die({m->code, m->message});
  }
  die({ErrorCode::bad_request, "the executor sent a message that only clients send"});
}

void WorkerLane::claimed(const LaneClaimed& message, std::vector<UniqueFd> descriptors) {
  if (kind_ == LaneKind::ucx) return open_remote(message);
  auto opened = open_local_lane(message, std::move(descriptors));
  if (!opened) return die(opened.error());
  use_lane(std::move(*opened), message.pid);
}

void WorkerLane::open_remote(const LaneClaimed& message) {
  stop_waiting();
  opening_pid_ = message.pid;
  const auto threads = core_.threads();
  if (threads == nullptr) return;
  const auto fabric =
      message.trusted_fabric && !tcp_only_ ? transport::Fabric::trusted : transport::Fabric::tcp;
  threads->connector.post([weak = core_.weak_from_this(), lane = this, worker = worker_, message,
                           fabric, opening = ++opening_] {
    if (const auto core = weak.lock(); core == nullptr || core->ended()) return;
    auto opened = open_remote_lane(worker, message, fabric,
                                   std::chrono::steady_clock::now() + connect_within);
    if (const auto core = weak.lock()) lane->arrive(opening, std::move(opened));
  });
}

void WorkerLane::use_lane(OpenedLane opened, std::int64_t pid) {
  detach(LanePhase::replacing);
  failed_openings_ = 0;
  largest_input_.store(opened.largest_input);
  largest_output_.store(opened.largest_output);
  pid_.store(pid, std::memory_order_relaxed);
  end_ = std::make_shared<LaneEnd>(std::move(opened.client), opened.local);
  if (const auto threads = core_.threads())
    wake_watch_ = threads->lanes.watch(
        end_->client->wake_descriptor(), core_.weak_from_this(), *this,
        end_->local != nullptr ? LaneThread::Events::readable : LaneThread::Events::when_armed);
  phase_.store(LanePhase::ready, std::memory_order_release);
  announce();
  core_.lane_changed();
}

void WorkerLane::arrive(Result<LaneSocket> socket) {
  {
    const std::lock_guard lock(arrivals_mutex_);
    arrived_socket_ = std::move(socket);
    arrived_.store(true, std::memory_order_release);
  }
  poke();
}

void WorkerLane::arrive(std::uint64_t opening, Result<OpenedLane> opened) {
  std::optional<Result<OpenedLane>> older;  // closed outside of the lock
  {
    const std::lock_guard lock(arrivals_mutex_);
    older.swap(arrived_lane_);
    arrived_lane_ = std::move(opened);
    arrived_opening_ = opening;
    arrived_.store(true, std::memory_order_release);
  }
  poke();
}

void WorkerLane::take_arrivals() {
  std::optional<Result<LaneSocket>> socket;
  std::optional<Result<OpenedLane>> opened;
  std::uint64_t opening = 0;
  {
    const std::lock_guard lock(arrivals_mutex_);
    arrived_.store(false, std::memory_order_relaxed);
    socket.swap(arrived_socket_);
    opened.swap(arrived_lane_);
    opening = arrived_opening_;
  }
  if (phase_.load(std::memory_order_relaxed) == LanePhase::dead) return;
  if (socket && !*socket) return die(socket->error());
  if (socket) use_socket(std::move(**socket));
  // That worker may have ended, and another one been announced.
  if (!opened || opening != opening_) return;
  if (*opened)
    use_lane(std::move(**opened), opening_pid_);
  else
    opening_failed(opened->error());
}

/// Tells the executor which modules will be called, and sends those it asked for.
void WorkerLane::announce() {
  if (phase_.load(std::memory_order_relaxed) != LanePhase::ready) return;
  codes_seen_ = core_.codes_version();
  const auto codes = core_.codes();
  slots_.resize(codes.size());
  for (const auto& code : codes) {
    Slot& slot = slots_[code->number];
    if (slot.state == SlotState::unknown) {
      slot.state = SlotState::announced;
      tell(LaneAnnounce{code->digest});
    } else if (slot.state == SlotState::needs_code) {
      const int module = core_.module_of(*code);
      if (module < 0) continue;  // comes by later
      slot.state = SlotState::announced;
      tell(LaneCode{code->digest}, {module});
    }
  }
}

void WorkerLane::loaded(const LaneSlot& message) {
  for (const auto& code : core_.codes()) {
    if (code->digest != message.digest || code->number >= slots_.size()) continue;
    slots_[code->number] = {.state = SlotState::ready,
                            .slot = message.slot,
                            .generation = message.generation,
                            .usual_run = slots_[code->number].usual_run};
    core_.code_loaded(*code, message.entries);
    if (stream_waits_for(*code)) begin_again(*stream_);
  }
}

void WorkerLane::rejected(const LaneRejected& message) {
  for (const auto& code : core_.codes()) {
    if (code->digest != message.digest || code->number >= slots_.size()) continue;
    const bool again = core_.code_rejected(*code, message);
    slots_[code->number].state = again ? SlotState::unknown : SlotState::rejected;
    if (!again && stream_waits_for(*code)) begin_again(*stream_);
    // A worker that is being replaced announces with its replacement.
    if (again && message.code != ErrorCode::no_capacity) announce();
  }
}

}  // namespace orchid::sdk
