// The lane socket: how a worker comes, loads modules, ends and is replaced.
#include <algorithm>

#include "lease/lease_core.h"
#include "lease/lease_threads.h"
#include "lease/open_lane.h"
#include "lease/worker_lane.h"
#include "problem.h"

namespace orchid::sdk {
namespace {

constexpr unsigned most_attempts = 4;

}  // namespace

void WorkerLane::open(std::string_view lane) {
  auto socket = connect_lane_socket(worker_, lane);
  if (!socket) return die(socket.error());
  socket_ = std::move(*socket);
  if (const auto threads = core_.threads())
    socket_watch_ = threads->lanes.watch(socket_.get(), core_.weak_from_this(), *this);
  tell(LaneClaim{.lease = worker_.lease, .secret = worker_.secret});
}

void WorkerLane::tell(const LaneMessage& message, const std::vector<int>& descriptors) {
  // A socket that is full or closed becomes readable soon; there we learn of it.
  if (socket_) (void)send_packet(socket_.get(), encode(message), descriptors);
}

void WorkerLane::read_socket() {
  while (socket_) {
    auto packet = receive_packet(socket_.get(), /*wait=*/false);
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
  if (const auto* m = std::get_if<LaneEnded>(&*message)) return worker_ended(*m);
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
  auto opened = open_lane(message, std::move(descriptors));
  if (!opened) return die(opened.error());
  detach(LanePhase::replacing);
  largest_input_.store(opened->largest_input);
  largest_output_.store(opened->largest_output);
  pid_.store(message.pid, std::memory_order_relaxed);
  end_ = std::make_shared<LaneEnd>(std::move(opened->client));
  if (const auto threads = core_.threads())
    wake_watch_ =
        threads->lanes.watch(end_->client->wake_descriptor(), core_.weak_from_this(), *this);
  phase_.store(LanePhase::ready, std::memory_order_release);
  announce();
  core_.lane_changed();
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
  }
}

void WorkerLane::rejected(const LaneRejected& message) {
  for (const auto& code : core_.codes()) {
    if (code->digest != message.digest || code->number >= slots_.size()) continue;
    const bool again = core_.code_rejected(*code, message);
    slots_[code->number].state = again ? SlotState::unknown : SlotState::rejected;
    // A worker that is being replaced announces with its replacement.
    if (again && message.code != ErrorCode::no_capacity) announce();
  }
}

void WorkerLane::worker_ended(const LaneEnded& ended) {
  if (end_) (void)take_answers();  // what it answered before its end counts
  detach(LanePhase::replacing);
  empty(ended);
  core_.lane_changed();
}

/// This worker is given up: the executor puts another one in its place.
void WorkerLane::replace(const std::string& reason) {
  if (phase_.load(std::memory_order_relaxed) != LanePhase::ready) return;
  const std::uint64_t front = head_ == tail_ ? 0 : flights_[head_ % flight_limit].request;
  detach(LanePhase::replacing);
  tell(LaneReplace{reason});
  empty({.request = front, .outcome = Outcome::worker_lost, .message = reason, .started = true});
}

void WorkerLane::detach(LanePhase next) {
  pid_.store(0, std::memory_order_relaxed);
  if (end_) {
    if (const auto threads = core_.threads(); threads && wake_watch_ != 0)
      threads->lanes.forget(end_->client->wake_descriptor(), wake_watch_);
    wake_watch_ = 0;
    end_->leave_behind();
    end_.reset();
  }
  for (Slot& slot : slots_) slot = {.usual_run = slot.usual_run};
  phase_.store(next, std::memory_order_release);
}

/// Takes out all calls after the worker's end. Only the oldest can have been started.
void WorkerLane::empty(const LaneEnded& how) {
  while (head_ != tail_) {  // from the back, so that they wait in their old order
    const Flight flight = flights_[(tail_ - 1) % flight_limit];
    --tail_;
    if (flight.call == nullptr) continue;
    if (how.started && flight.request == how.request) {
      lost(*flight.call, how);
    } else {
      --flight.call->attempt;
      core_.put_back(*flight.call);
    }
  }
  load_.store(0, std::memory_order_relaxed);
}

void WorkerLane::lost(DirectCall& call, const LaneEnded& how) {
  const bool input_may_have_changed = call.home != nullptr;
  const bool in_time =
      call.due == MonotonicTime::min() || std::chrono::steady_clock::now() < call.due;
  if (is_retryable(how.outcome) && !call.at_most_once && !call.cancelled && in_time &&
      !input_may_have_changed && call.attempt < most_attempts)
    return core_.put_back(call);
  Outcome outcome = how.outcome;
  if (is_retryable(outcome) && call.cancelled) outcome = Outcome::cancelled;
  if (is_retryable(outcome) && !in_time) outcome = Outcome::deadline_exceeded;
  const auto kind = parse_error_kind(to_string(outcome)).value_or(ErrorKind::internal);
  call.error = std::make_unique<Error::Details>(
      failure_of(call, kind, how.message.empty() ? std::string(to_string(outcome)) : how.message));
  finish(call);
}

/// The executor has gone, has refused, or nobody wants this lane any more.
void WorkerLane::die(const Failure& why) {
  if (phase_.load(std::memory_order_relaxed) == LanePhase::dead) return;
  if (end_) (void)take_answers();
  if (phase_.load(std::memory_order_relaxed) == LanePhase::claiming)
    core_.lane_refused({why.code, why.message});
  const std::uint64_t front = head_ == tail_ ? 0 : flights_[head_ % flight_limit].request;
  detach(LanePhase::dead);
  if (const auto threads = core_.threads(); threads && socket_watch_ != 0)
    threads->lanes.forget(socket_.get(), socket_watch_);
  socket_watch_ = 0;
  socket_.reset();
  const Outcome outcome = why.code == ErrorCode::cancelled || why.code == ErrorCode::lease_ended
                              ? Outcome::evicted
                              : Outcome::worker_lost;
  empty({.request = front, .outcome = outcome, .message = why.message, .started = true});
  core_.lane_changed();
}

}  // namespace orchid::sdk
