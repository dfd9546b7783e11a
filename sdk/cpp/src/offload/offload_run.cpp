#include "offload/offload_run.h"

#include <time.h>

#include <deque>
#include <utility>

#include "lease/lease_access.h"
#include "offload/host_idle.h"

namespace orchid::sdk {
namespace {

/// A function that fails so often in a row is left to the local threads.
constexpr unsigned most_failures = 3;

/// For how long this thread has had a core.
std::chrono::nanoseconds thread_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

/// While it lives, the user's work does.
class OffloadRun::Visit {
 public:
  explicit Visit(OffloadRun& run) : run_(run) {
    const std::lock_guard lock(run_.mutex_);
    if (run_.over_) return;
    welcome_ = true;
    ++run_.visits_;
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    if (!welcome_) return;
    const std::lock_guard lock(run_.mutex_);
    if (--run_.visits_ == 0) run_.changed_.notify_all();
  }
  [[nodiscard]] bool welcome() const { return welcome_; }

 private:
  OffloadRun& run_;
  bool welcome_ = false;
};

/// In the lane, or here when the lane is full.
struct OffloadRun::Input {
  std::optional<Buffer> buffer;
  std::vector<std::byte> bytes;
};

OffloadRun::OffloadRun(const OffloadWork& work, const WorkerGain& gain, bool shared_host)
    : work_(work),
      function_(*work.function),
      call_options_{.at_most_once = true, .stop = stop_.get_token()},
      shared_host_(shared_host),
      next_look_(gain.next_look()),
      schedule_({.count = work.count, .gain = gain}),
      over_(work.count == 0) {}

WorkerGain OffloadRun::gain() {
  const std::lock_guard lock(mutex_);
  return schedule_.gain();
}

PieceSchedule::Time OffloadRun::now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

ParticipantId OffloadRun::join(ParticipantKind kind) {
  const std::lock_guard lock(mutex_);
  workers_ += kind == ParticipantKind::local ? 0 : 1;
  if (kind == ParticipantKind::sharing_worker) shared_host_ = true;
  return schedule_.add(kind);
}

/// Waits until there is something to do. Nothing: the run is over.
std::optional<OffloadRun::Assignment> OffloadRun::next_assignment(ParticipantId participant) {
  while (true) {
    if (shared_host_) look_at_host();
    std::unique_lock lock(mutex_);
    if (over_) return std::nullopt;
    const PieceSchedule::Time time = now();
    if (auto assignment = schedule_.next(participant, time)) return assignment;
    if (const auto rest_end = schedule_.rest_end(time))
      changed_.wait_until(lock, std::chrono::steady_clock::time_point(*rest_end));
    else
      changed_.wait(lock);
  }
}

std::optional<OffloadRun::Assignment> OffloadRun::assignment_now(ParticipantId participant) {
  const std::lock_guard lock(mutex_);
  if (over_) return std::nullopt;
  return schedule_.next(participant, now());
}

void OffloadRun::fail(std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(why);
  over_ = true;
  changed_.notify_all();
}

/// Local threads call it, or a Visit.
void OffloadRun::count_result(AssignmentId assignment, PieceSchedule::Time busy,
                              OffloadWork::Apply apply) {
  std::vector<OffloadWork::Apply> counted;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    const auto [verdict, piece] = schedule_.finish(assignment, now(), busy);
    if (verdict == PieceSchedule::Verdict::hold) {
      held_[piece].push_back(std::move(apply));
      return;
    }
    if (verdict == PieceSchedule::Verdict::drop) return;
    if (verdict == PieceSchedule::Verdict::apply_parts) counted = std::move(held_[piece]);
    held_.erase(piece);
    counted.push_back(std::move(apply));
    if (schedule_.finished()) {
      over_ = true;
      changed_.notify_all();
    }
  }
  for (const OffloadWork::Apply& each : counted) each();
}

void OffloadRun::work_here(ParticipantId participant) try {
  while (const auto assignment = next_assignment(participant)) {
    const auto start = thread_time();
    OffloadWork::Apply apply = work_.compute(assignment->range);
    count_result(assignment->id, thread_time() - start, std::move(apply));
  }
} catch (...) {  // the user's: `end` throws it
  fail(std::current_exception());
}

void OffloadRun::look_at_host() {
  const PieceSchedule::Time time = now();
  PieceSchedule::Time due = next_look_;
  if (time < due || !next_look_.compare_exchange_strong(due, time + WorkerGain::look_interval))
    return;
  const auto idle = host_idle_time();
  if (!idle) return;
  const std::lock_guard lock(mutex_);
  schedule_.host_idle(*idle, time);
  next_look_ = schedule_.gain().next_look();
}

OffloadReport OffloadRun::end() {
  stop_.request_stop();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return visits_ == 0; });
  held_.clear();
  if (failure_) std::rethrow_exception(failure_);
  const PieceSchedule::Counts& counts = schedule_.counts();
  return {.local_items = counts.local_items,
          .worker_items = counts.worker_items,
          .pieces = counts.pieces,
          .repeated = counts.repeated,
          .failed = failed_,
          .workers = workers_};
}

/// Nothing: the run is over, or the input fits no lane.
std::optional<OffloadRun::Input> OffloadRun::prepare(Assignment& assignment, Lease& lease) {
  const Visit visit(*this);
  if (!visit.welcome()) return std::nullopt;
  const std::size_t largest = lease.capacity().largest_input;
  try {
    std::size_t size = work_.input_size(assignment.range);
    while (size > largest) {
      const std::size_t before = assignment.range.size();
      {
        const std::lock_guard lock(mutex_);
        assignment = schedule_.shrink(assignment.id, before / 2);
      }
      changed_.notify_all();
      if (assignment.range.size() == before) return std::nullopt;
      size = work_.input_size(assignment.range);
    }
    Input input;
    try {
      input.buffer = lease.buffer(size);
    } catch (const Error&) {  // full: the call waits for room then
      input.bytes.resize(size);
    }
    work_.write_input(assignment.range, input.buffer ? input.buffer->bytes() : input.bytes);
    return input;
  } catch (...) {
    fail(std::current_exception());
    return std::nullopt;
  }
}

std::shared_ptr<AsyncCall> OffloadRun::send(Assignment& assignment, Lease& lease,
                                            const LeasedFunction& function) {
  auto input = prepare(assignment, lease);
  if (!input)
    throw Error({.kind = ErrorKind::too_large,
                 .message = "the input of one item is larger than any worker takes"});
  return LeaseAccess::start(function, input->bytes,
                            input->buffer ? LeaseAccess::room_of(*input->buffer) : nullptr,
                            call_options_, AsyncUse::piece);
}

void OffloadRun::take_answer(const Assignment& assignment, Output output) {
  const Visit visit(*this);
  if (!visit.welcome()) return;
  const PieceSchedule::Time busy = output.run_time();
  OffloadWork::Apply apply;
  try {
    apply = work_.receive(assignment.range, std::move(output));
  } catch (const Error&) {
    throw;  // no answer
  } catch (...) {
    return fail(std::current_exception());
  }
  try {
    count_result(assignment.id, busy, std::move(apply));
  } catch (...) {
    fail(std::current_exception());
  }
}

OffloadRun::Parting OffloadRun::give_back(AssignmentId assignment, const Error& why) {
  Parting parting = Parting::run_over;
  PieceSchedule::Retry retry = PieceSchedule::Retry::anywhere;
  const std::lock_guard lock(mutex_);
  switch (why.kind()) {
    case ErrorKind::lease_ended:
      parting = Parting::worker_gone;
      break;
    case ErrorKind::worker_lost:
    case ErrorKind::evicted:
    case ErrorKind::cancelled:
    case ErrorKind::no_capacity:
    case ErrorKind::timed_out:
      break;
    default:
      parting = Parting::useless;
      retry = PieceSchedule::Retry::locally;
      failed_ += over_ ? 0 : 1;
  }
  schedule_.give_back(assignment, retry);
  changed_.notify_all();
  return parting;
}

OffloadRun::Parting OffloadRun::work_there(std::span<const ParticipantId> participants,
                                           Lease& lease, const LeasedFunction& function) {
  unsigned failures = 0;
  Parting parting = Parting::run_over;
  std::deque<Sent> sent;
  std::vector<ParticipantId> idle(participants.begin(), participants.end());
  const auto failed = [&](AssignmentId assignment, const Error& error) {
    const Parting why = give_back(assignment, error);
    if (why == Parting::worker_gone || (why == Parting::useless && ++failures == most_failures))
      parting = why;
  };
  while (parting == Parting::run_over || !sent.empty()) {
    while (parting == Parting::run_over && !idle.empty()) {
      auto assignment = sent.empty() ? next_assignment(idle.back()) : assignment_now(idle.back());
      if (!assignment) break;
      try {
        auto call = send(*assignment, lease, function);
        sent.push_back({idle.back(), *assignment, std::move(call)});
        idle.pop_back();
      } catch (const Error& error) {
        failed(assignment->id, error);
      }
    }
    if (sent.empty()) return parting;
    const Sent first = std::move(sent.front());
    sent.pop_front();
    idle.push_back(first.participant);
    try {
      take_answer(first.assignment, LeaseAccess::output_of(*first.call));
      failures = 0;
    } catch (const Error& error) {
      failed(first.assignment.id, error);
    }
  }
  return parting;
}

}  // namespace orchid::sdk
