#include "lease/worker_lane.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>

#include "foundation/files.h"
#include "lease/call_batch.h"
#include "lease/lane_stream.h"
#include "lease/lease_core.h"
#include "lease/lease_threads.h"
#include "problem.h"

namespace orchid::sdk {
namespace {

constexpr unsigned looks_per_clock = 64;
/// Who sleeps in a lane gives back so often what other threads have read: the worker may wait for
/// that room.
constexpr std::chrono::milliseconds longest_sleep{100};

}  // namespace

WorkerLane::WorkerLane(LeaseCore& core, GrantedWorker worker)
    : core_(core),
      worker_(std::move(worker)),
      attention_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

WorkerLane::~WorkerLane() = default;

void WorkerLane::poke() {
  attention_.fetch_add(1);
  if (try_drive()) {
    leave();
  } else if (asleep_.load()) {
    constexpr std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(attention_event_.get(), &one, sizeof(one));
  }
}

void WorkerLane::disarm() {
  armed_ = false;
  if (end_) end_->client->finish_sleep();
}

void WorkerLane::leave() {
  while (true) {
    if (attention_.load() != attention_seen_) look_around();
    if (core_.waiting() != 0) pump();
    const std::uint32_t queue_seen = core_.queue_version();
    const std::uint32_t attention_seen = attention_seen_;  // the next driver's from the store on
    if (head_ != tail_ && phase_.load(std::memory_order_relaxed) == LanePhase::ready &&
        !has_attentive_owner()) {
      if (!end_->client->prepare_to_sleep()) {
        (void)take_answers();
        continue;
      }
      armed_ = true;
      if (end_->local == nullptr)
        if (const auto threads = core_.threads(); threads && wake_watch_ != 0)
          threads->lanes.arm(end_->client->wake_descriptor(), wake_watch_);
    }
    driven_.store(false);
    if (core_.is_room_wanted()) core_.tell_room_waiters();
    // What came between the last look and that store found the lane taken.
    if (attention_.load() == attention_seen &&
        (core_.waiting() == 0 || core_.queue_version() == queue_seen))
      return;
    if (!try_drive()) return;
  }
}

Turn WorkerLane::turn_of(const DirectCall& call) const {
  if (phase_.load(std::memory_order_relaxed) != LanePhase::ready || stream_ != nullptr)
    return Turn::never;
  const unsigned number = call.code->number;
  if (number >= slots_.size() || slots_[number].state != SlotState::ready) return Turn::never;
  if (call.home != nullptr && call.home->end != end_ && !call.home->end->gone()) return Turn::never;
  if (call.follows && tail_ - head_ == 1) return Turn::now;
  return turn_behind(
      tail_ - head_, call.at_most_once,
      {.of_call = slots_[number].usual_run, .of_last = slots_[last_code_].usual_run});
}

bool WorkerLane::send(DirectCall& call) {
  if (call.stream != nullptr) {
    begin(*call.stream);
    return true;
  }
  end_->collect();
  const Slot& slot = slots_[call.code->number];
  std::chrono::nanoseconds left = call.deadline;
  if (call.due != MonotonicTime::min())
    left = std::max(call.due - std::chrono::steady_clock::now(), std::chrono::nanoseconds(1));
  const std::size_t largest = largest_input_.load(std::memory_order_relaxed);
  const Result<std::uint64_t> sent =
      call.input.size() > largest
          ? fail(ErrorCode::too_large,
                 "the input is over the limit of " + to_string(ByteCount{largest}))
          : end_->client->send({.slot = slot.slot,
                                .generation = slot.generation,
                                .entry = call.entry,
                                .deadline = left,
                                .input = {call.input.data(), call.input.size()}});
  if (!sent) {
    if (sent.error().code == ErrorCode::no_capacity) return false;
    if (sent.error().code != ErrorCode::too_large) {
      lane_failed(sent.error());
      return false;
    }
    call.error = std::make_unique<Error::Details>(
        failure_of(call, ErrorKind::too_large, sent.error().message));
    finish(call);
    return true;
  }
  if (call.home != nullptr && call.home->end == end_) call.home->used = true;
  ++call.attempt;
  last_code_ = call.code->number;
  flights_[tail_ % flight_limit] = {&call, *sent, false};
  ++tail_;
  const auto load = static_cast<unsigned>(tail_ - head_);
  load_.store(load, std::memory_order_relaxed);
  call.lane.store(this, std::memory_order_release);
  if (load > 1) core_.lane_is_deep();
  return true;
}

void WorkerLane::drive_for(DirectCall& call, MonotonicTime until) {
  const Wait wait = core_.options().wait;
  const LeaseCore::Ticks& ticks = core_.ticks();
  std::uint64_t start = 0;
  std::uint64_t socket_looked = 0;
  if (call.async == nullptr) own_ = call.owner();
  while (call.lane.load(std::memory_order_relaxed) == this && !call.done()) {
    bool progress = false;
    for (unsigned look = 0; look < looks_per_clock && !progress; ++look)
      progress = take_answers() || attention_.load(std::memory_order_relaxed) != attention_seen_;
    if (progress) {
      if (call.done()) break;
      if (attention_.load(std::memory_order_relaxed) != attention_seen_) look_around();
      if (core_.waiting() != 0) pump();
      start = 0;
      continue;
    }
    const std::uint64_t now = ticks_now();
    if (start == 0) start = socket_looked = now;
    if (wait != Wait::hot && now - start >= ticks.spin) {
      if (check_due(call, until)) break;
      sleep(std::min(until, call.due + LeaseCore::last_words));
      start = 0;
    } else if (now - start > ticks.alone) {
      ::sched_yield();
      if (now - socket_looked < ticks.socket) continue;
      socket_looked = now;
      read_socket();
      if (end_) end_->collect();
      if (check_due(call, until)) break;
    }
  }
  own_ = nullptr;
}

/// Ends an overdue call. True: there is nothing more to wait for.
bool WorkerLane::check_due(DirectCall& call, MonotonicTime until) {
  const MonotonicTime now = std::chrono::steady_clock::now();
  call.fix_due(now);
  if (now >= call.due + LeaseCore::last_words) {
    call.given_up.store(true, std::memory_order_relaxed);
    obey_callers();
    return call.done();
  }
  return now >= until;
}

void WorkerLane::sleep(MonotonicTime until) {
  if (end_) end_->collect();
  asleep_.store(true);
  transport::LaneClient* client =
      phase_.load(std::memory_order_relaxed) == LanePhase::ready ? end_->client.get() : nullptr;
  if (attention_.load() == attention_seen_ && (client == nullptr || client->prepare_to_sleep())) {
    const auto of_socket =
        static_cast<short>(POLLIN | (socket_ && socket_->wants_to_write() ? POLLOUT : 0));
    std::array<pollfd, 3> wait{{{attention_event_.get(), POLLIN, 0},
                                {socket_ ? socket_->descriptor() : -1, of_socket, 0},
                                {client != nullptr ? client->wake_descriptor() : -1, POLLIN, 0}}};
    const auto left = std::clamp<MonotonicTime::duration>(
        until - std::chrono::steady_clock::now(), MonotonicTime::duration{0}, longest_sleep);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    const int ready = ::ppoll(wait.data(), wait.size(), &timeout, nullptr);
    if (client != nullptr) client->finish_sleep();
    if (ready > 0 && wait[0].revents != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = ::read(attention_event_.get(), &count, sizeof(count));
    }
    if (ready > 0 && wait[1].revents != 0) read_socket();
  }
  asleep_.store(false);
}

bool WorkerLane::look_for(const void* owner) {
  own_ = owner;
  bool any = take_answers();
  own_ = nullptr;
  if (attention_.load(std::memory_order_relaxed) != attention_seen_) {
    look_around();
    any = true;
  }
  if (core_.waiting() != 0) pump();
  return any;
}

void WorkerLane::look_around() {
  attention_seen_ = attention_.load();
  if (arrived_.load(std::memory_order_acquire)) take_arrivals();
  if (close_wanted_.load(std::memory_order_acquire))
    return die({ErrorCode::lease_ended, "the lease has ended"});
  if (end_) {
    end_->collect();
    (void)take_answers();
  }
  read_socket();
  if (core_.codes_version() != codes_seen_) announce();
  obey_callers();
  if (stream_ != nullptr) obey_stream();
  pump();
}

void WorkerLane::look_around_for(std::chrono::nanoseconds time) {
  look_around();
  if (core_.options().wait == Wait::blocking) return;
  const std::uint64_t limit = core_.rate().ticks(time);
  std::uint64_t start = ticks_now();
  while (head_ != tail_) {
    if (take_answers()) {
      if (core_.waiting() != 0) pump();
      start = ticks_now();
      continue;
    }
    const std::uint64_t waited = ticks_now() - start;
    if (attention_.load(std::memory_order_relaxed) != attention_seen_ || waited > limit) return;
    if (waited > core_.ticks().alone) ::sched_yield();
  }
}

bool WorkerLane::take_answers() {
  if (phase_.load(std::memory_order_relaxed) != LanePhase::ready) return false;
  bool any = false;
  while (head_ != tail_) {
    auto response = end_->client->receive();
    if (!response) {
      lane_failed(response.error());
      return true;
    }
    if (!*response) break;
    take_answer(**response);
    any = true;
  }
  return any;
}

void WorkerLane::take_answer(const transport::LaneResponse& response) {
  if (stream_ != nullptr) return take_of_stream(response);
  Flight& flight = flights_[head_ % flight_limit];
  DirectCall* call = flight.call;
  ++head_;
  load_.store(static_cast<unsigned>(tail_ - head_), std::memory_order_relaxed);
  if (call == nullptr) {
    end_->client->release(response);
  } else if (response.kind == ResponseKind::need_code) {
    if (call->home != nullptr) {  // the release frees the room that the input lies in
      call->output.assign(call->input.begin(), call->input.end());
      call->input = call->output;
      call->home = nullptr;
    }
    end_->client->release(response);
    slots_[call->code->number] = {};
    codes_seen_ = core_.codes_version() - 1;
    announce();
    --call->attempt;
    if (++call->stale_answers > most_stale_answers) {
      call->error = std::make_unique<Error::Details>(failure_of(
          *call, ErrorKind::internal, "the worker loses the function's code again and again"));
      finish(*call);
    } else {
      core_.put_back(*call);
    }
  } else {
    if (!fill(*call, response)) end_->client->release(response);
    finish(*call);
  }
  // A call that nobody wants any more holds up those behind it.
  if (head_ != tail_)
    if (Flight& front = flights_[head_ % flight_limit];
        front.call == nullptr && !front.cancel_sent) {
      front.cancel_sent = true;
      tell(LaneCancel{front.request});
    }
}

bool WorkerLane::fill(DirectCall& call, const transport::LaneResponse& response) {
  call.run_time = response.run_time;
  if (response.outcome != Outcome::ok) {
    set_error(call, response);
    return false;
  }
  auto& usual = slots_[call.code->number].usual_run;
  usual = usual.count() < 0 ? response.run_time : (usual * 7 + response.run_time) / 8;
  call.output_size = response.payload.size();
  switch (call.destination) {
    case Destination::own_memory:
      call.output.assign(response.payload.begin(), response.payload.end());
      return false;
    case Destination::callers_memory:
      if (response.payload.size() <= call.room.size()) {
        if (!response.payload.empty())
          std::memcpy(call.room.data(), response.payload.data(), response.payload.size());
      } else {
        call.error = std::make_unique<Error::Details>(
            failure_of(call, ErrorKind::too_large,
                       "the output has " + std::to_string(response.payload.size()) +
                           " bytes, the caller's memory " + std::to_string(call.room.size()) +
                           "; the function has run, and its result is lost"));
        call.error->hint = "pass memory for the largest output, or call invoke, which allocates";
      }
      return false;
    case Destination::in_place:
      call.held = std::make_unique<HeldAnswer>(end_, response);
      return true;
  }
  return false;
}

/// What the worker says of a call that was not ok.
void WorkerLane::set_error(DirectCall& call, const transport::LaneResponse& response) const {
  const auto kind = parse_error_kind(to_string(response.outcome)).value_or(ErrorKind::internal);
  call.error = std::make_unique<Error::Details>(
      failure_of(call, kind,
                 response.payload_is_message ? std::string(as_text(response.payload))
                                             : std::string(to_string(response.outcome))));
}

void WorkerLane::finish(DirectCall& call) {
  if (call.owner() == own_) {
    call.state.store(DirectCall::State::done, std::memory_order_relaxed);
    if (call.batch != nullptr) call.batch->finished_here(call);
  } else {
    core_.finish(call);
  }
}

void WorkerLane::pump() {
  while (phase_.load(std::memory_order_relaxed) == LanePhase::ready && core_.waiting() != 0) {
    DirectCall* call = core_.take_waiting(*this);
    if (call == nullptr) return;
    if (!send(*call)) return core_.put_back(*call);
  }
}

Error::Details WorkerLane::failure_of(const DirectCall& call, ErrorKind kind,
                                      std::string message) const {
  return {.kind = kind,
          .message = std::move(message),
          .hint = hint_for(kind),
          .outcome = parse_outcome(to_string(kind)) ? std::string(to_string(kind)) : std::string{},
          .node = worker_.node,
          .attempt = call.attempt,
          .retryable = is_retryable(kind)};
}

Result<std::unique_ptr<LaneRoom>> WorkerLane::allocate(std::size_t size) {
  if (!end_) return fail(ErrorCode::no_capacity, "the worker is being replaced");
  end_->collect();
  auto room = end_->client->allocate(size);
  if (!room) return fail(std::move(room.error()));
  return std::make_unique<LaneRoom>(end_, *room);
}

}  // namespace orchid::sdk
