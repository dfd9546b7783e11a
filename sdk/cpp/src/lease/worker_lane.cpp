#include "lease/worker_lane.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>

#include "foundation/files.h"
#include "http/problem.h"
#include "lease/call_batch.h"
#include "lease/lane_stream.h"
#include "lease/lease_threads.h"

namespace orchid::sdk {
namespace {

/// Who sleeps in a lane gives back so often what other threads have read: the worker may wait for
/// that room.
constexpr std::chrono::milliseconds longest_sleep{100};

}  // namespace

WorkerLane::WorkerLane(LeaseBoard& board, GrantedWorker worker)
    : board_(board),
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
    if (attention_.load() != attention_seen_) handle_events();
    if (board_.wants_lanes()) pump();
    const std::uint32_t queue_seen = board_.queue_version();
    const std::uint32_t attention_seen = attention_seen_;  // the next driver's from the store on
    if (!flights_.empty() && conversation_.is_ready() && !has_attentive_owner()) {
      if (!end_->client->prepare_to_sleep()) {
        (void)take_answers();
        continue;
      }
      armed_ = true;
      if (end_->local == nullptr)
        if (const auto threads = board_.threads(); threads && wake_watch_ != 0)
          threads->lanes.arm(end_->client->wake_descriptor(), wake_watch_);
    }
    driven_.store(false);
    board_.lane_left();
    // What came between the last look and that store found the lane taken.
    if (attention_.load() == attention_seen &&
        (board_.waiting() == 0 || board_.queue_version() == queue_seen))
      return;
    if (!try_drive()) return;
  }
}

Turn WorkerLane::turn_of(const DirectCall& call) const {
  return has_data(call) ? turn_given_data(call) : Turn::never;
}

/// When its worker has mapped what the call is given.
Turn WorkerLane::turn_given_data(const DirectCall& call) const {
  if (!conversation_.is_ready() || stream_ != nullptr) return Turn::never;
  const unsigned number = call.code->number;
  if (codes_.ready(number) == nullptr) return Turn::never;
  // Where processes are separate its input is copied, since only some workers have its module.
  // That of a call with data is copied behind the table of these.
  if (call.home != nullptr && call.data == nullptr && call.home->end != end_ &&
      !call.home->end->gone() && !is_separate())
    return Turn::never;
  if (board_.loads_wanted() != 0 && !flights_.empty()) return Turn::when_idle;
  if (call.follows && flights_.size() == 1) return Turn::now;
  return turn_behind(flights_.size(), call.at_most_once,
                     {.of_call = usual_run(number), .of_last = usual_run(last_code_)});
}

bool WorkerLane::send(DirectCall& call) {
  if (call.stream != nullptr) {
    begin(*call.stream);
    return true;
  }
  end_->collect();
  const auto& slot = *codes_.ready(call.code->number);
  std::chrono::nanoseconds left = call.deadline;
  if (call.due != MonotonicTime::min())
    left = std::max(call.due - std::chrono::steady_clock::now(), std::chrono::nanoseconds(1));
  const std::size_t largest = largest_input_.load(std::memory_order_relaxed);
  const transport::LaneCall told{.slot = slot.slot,
                                 .generation = slot.generation,
                                 .entry = call.entry,
                                 .deadline = left,
                                 .input = {call.input.data(), call.input.size()}};
  const Result<std::uint64_t> sent =
      call.input.size() > largest ? fail(ErrorCode::too_large, "the input is over the limit of " +
                                                                   to_string(ByteCount{largest}))
      : call.data == nullptr      ? end_->client->send(told)
                                  : send_with_data(call, told);
  if (!sent) {
    if (sent.error().code == ErrorCode::no_capacity) return false;
    if (sent.error().code != ErrorCode::too_large) {
      lane_failed(sent.error());
      return false;
    }
    finish_with(call, ErrorKind::too_large, sent.error().message);
    return true;
  }
  if (call.home != nullptr && call.data == nullptr && call.home->end == end_)
    call.home->used = true;
  last_code_ = call.code->number;
  flights_.push(call, *sent);
  count_load();
  call.lane.store(this, std::memory_order_release);
  if (flights_.size() > 1) board_.watch_closely();
  return true;
}

void WorkerLane::drive_for(DirectCall& call, MonotonicTime until) {
  if (call.async == nullptr) own_ = call.owner();
  drive([&] { return call.lane.load(std::memory_order_relaxed) != this || call.done(); },
        [&] { return check_due(call, until); },
        [&] { return std::min(until, call.due + lane_client::answer_grace); });
  own_ = nullptr;
}

/// Ends an overdue call. True: there is nothing more to wait for.
bool WorkerLane::check_due(DirectCall& call, MonotonicTime until) {
  const MonotonicTime now = std::chrono::steady_clock::now();
  call.fix_due(now);
  if (now >= call.due + lane_client::answer_grace) {
    call.given_up.store(true, std::memory_order_relaxed);
    obey_callers();
    return call.done();
  }
  return now >= until;
}

void WorkerLane::sleep(MonotonicTime until) {
  if (end_) end_->collect();
  asleep_.store(true);
  transport::LaneClient* client = conversation_.is_ready() ? end_->client.get() : nullptr;
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

bool WorkerLane::receive_answers(const void* owner) {
  own_ = owner;
  bool any = take_answers();
  own_ = nullptr;
  if (attention_.load(std::memory_order_relaxed) != attention_seen_) {
    handle_events();
    any = true;
  }
  if (board_.wants_lanes()) pump();
  return any;
}

void WorkerLane::handle_events() {
  attention_seen_ = attention_.load();
  if (arrived_.load(std::memory_order_acquire)) take_arrivals();
  if (close_wanted_.load(std::memory_order_acquire))
    return die({ErrorCode::lease_ended, "the lease has ended"});
  if (end_) {
    end_->collect();
    (void)take_answers();
  }
  read_socket();
  if (board_.codes_version() != codes_seen_) announce();
  obey_callers();
  if (stream_ != nullptr) obey_stream();
  pump();
}

void WorkerLane::linger(std::chrono::nanoseconds time) {
  handle_events();
  if (board_.options().wait == Wait::blocking) return;
  const std::uint64_t limit = board_.rate().ticks(time);
  std::uint64_t start = ticks_now();
  while (!flights_.empty()) {
    if (take_answers()) {
      if (board_.wants_lanes()) pump();
      start = ticks_now();
      continue;
    }
    const std::uint64_t waited = ticks_now() - start;
    if (attention_.load(std::memory_order_relaxed) != attention_seen_ || waited > limit) return;
    if (waited > board_.ticks().alone) ::sched_yield();
  }
}

bool WorkerLane::take_answers() {
  if (!conversation_.is_ready()) return false;
  bool any = false;
  while (!flights_.empty()) {
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
  DirectCall* const call = flights_.pop();
  count_load();
  if (call == nullptr) {
    end_->client->release(response);
  } else if (response.kind == ResponseKind::need_code) {
    code_lost(*call, response);
  } else if (response.kind == ResponseKind::need_data) {
    data_unmapped(*call, response);
  } else {
    if (!fill(*call, response)) end_->client->release(response);
    finish(*call);
  }
  cancel_unwanted();
}

/// The worker has dropped the call's code for another module's.
void WorkerLane::code_lost(DirectCall& call, const transport::LaneResponse& response) {
  if (call.home != nullptr) {  // the release frees the room that the input lies in
    call.output.assign(call.input.begin(), call.input.end());
    call.input = call.output;
    call.home = nullptr;
  }
  end_->client->release(response);
  forget_code(*call.code);
  // First the call, since the code is loaded for as long as that may wait.
  if (lane_client::runs_again_without_code(call.history))
    board_.put_back(call);
  else
    finish_with(call, ErrorKind::internal, "the worker loses the function's code again and again");
  announce();
}

void WorkerLane::cancel_unwanted() {
  if (const std::uint64_t request = flights_.take_cancel()) tell(LaneCancel{request});
}

bool WorkerLane::fill(DirectCall& call, const transport::LaneResponse& response) {
  call.run_time = response.run_time;
  call.host = &worker_.node;
  if (response.outcome != Outcome::ok) {
    set_error(call, response);
    return false;
  }
  usual_runs_[call.code->number].observe(response.run_time);
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
  call.error = std::make_unique<Error::Details>(
      failure_of(call, kind_of(response.outcome),
                 response.payload_is_message ? std::string(as_text(response.payload))
                                             : std::string(to_string(response.outcome))));
}

void WorkerLane::finish_with(DirectCall& call, ErrorKind kind, std::string message) {
  call.error = std::make_unique<Error::Details>(failure_of(call, kind, std::move(message)));
  finish(call);
}

void WorkerLane::finish(DirectCall& call) {
  if (call.owner() == own_) {
    call.state.store(DirectCall::State::done, std::memory_order_relaxed);
    if (call.batch != nullptr) call.batch->finished_here(call);
  } else {
    board_.finish(call);
  }
}

void WorkerLane::pump() {
  if (is_separate()) return pump_module();
  while (conversation_.is_ready() && board_.waiting() != 0) {
    DirectCall* call =
        board_.take_waiting(*this, [&](DirectCall& each) { return turn_in_queue(each); });
    attach_wanted();
    if (call == nullptr) return;
    if (!send(*call)) return board_.put_back(*call);
  }
}

Error::Details WorkerLane::failure_of(const DirectCall& call, ErrorKind kind,
                                      std::string message) const {
  return {.kind = kind,
          .message = std::move(message),
          .hint = hint_for(kind),
          .outcome = is_outcome(kind) ? std::string(to_string(kind)) : std::string{},
          .node = worker_.node,
          .attempt = call.history.attempt,
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
