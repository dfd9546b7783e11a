#include "offload/offload_crew.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace orchid::sdk {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{50};
constexpr milliseconds longest_pause{2000};
/// So often it is looked whether a lease has grown.
constexpr milliseconds growth_look{200};
/// One is computed while the next one is on its way.
constexpr unsigned pieces_per_worker = 2;

}  // namespace

OffloadCrew::OffloadCrew(unsigned local_threads, std::unique_ptr<WorkerSource> source)
    : local_threads_(local_threads), source_(std::move(source)) {
  if (source_ != nullptr) recruiter_ = std::thread([this] { recruit(); });
}

OffloadCrew::~OffloadCrew() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  notify_all();
  if (recruiter_.joinable()) recruiter_.join();
}

OffloadReport OffloadCrew::run(const OffloadWork& work) {
  const std::lock_guard alone(one_run_);
  const auto run = begin_run(work);
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < local_threads_; ++i)
      others.emplace_back([&run] { run->work_here(run->join(ParticipantKind::local)); });
    run->work_here(run->join(ParticipantKind::local));
  }
  {
    const std::lock_guard lock(mutex_);
    run_.reset();
  }
  gain_ = run->gain();
  gain_.end_run();
  return run->end();
}

std::shared_ptr<OffloadRun> OffloadCrew::begin_run(const OffloadWork& work) {
  std::shared_ptr<OffloadRun> run;
  bool call = true;
  {
    const std::lock_guard lock(mutex_);
    // Under the lock: a rest that ends meanwhile may have been seen to end by those who sleep, with
    // the run before this one still there.
    const auto rest_end = gain_.rest_end(OffloadRun::now());
    run = std::make_shared<OffloadRun>(work, gain_, host_is_shared_);
    run_ = run;
    call = !host_is_shared_ || !rest_end || rest_end != rest_end_;
    rest_end_ = rest_end;
  }
  if (call) run_came_.notify_all();
  return run;
}

void OffloadCrew::notify_all() {
  changed_.notify_all();
  run_came_.notify_all();
}

unsigned OffloadCrew::callers() const {
  const std::lock_guard lock(mutex_);
  return callers_;
}

void OffloadCrew::recruit() {
  milliseconds pause = first_pause;
  while (true) {
    try {
      Team team(source_->take());
      pause = first_pause;
      lead(team);
    } catch (const Error&) {  // none now: that is what the local threads are for
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, pause, [this] { return stopping_; })) return;
    pause = std::min(pause * 2, longest_pause);
  }
}

/// Until the lease ends.
void OffloadCrew::lead(Team& team) {
  {
    const std::lock_guard lock(mutex_);
    host_is_shared_ = team.recruited.kind == ParticipantKind::sharing_worker;
  }
  while (true) {
    // Not under the lock: the lease has its own.
    const std::size_t wanted = team.recruited.lease.workers();
    while (team.calls.size() < wanted)
      team.calls.emplace_back([this, &team] { call_workers(team); });
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, growth_look, [&] { return stopping_ || team.ended; })) break;
  }
  {
    const std::lock_guard lock(mutex_);
    team.ended = true;
    host_is_shared_ = false;
  }
  notify_all();
  team.recruited.lease.release();  // ends the calls
  team.calls.clear();
}

std::shared_ptr<OffloadRun> OffloadCrew::await_run(const Team& team, const OffloadRun* before) {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !team.ended) {
    const bool rests = host_is_shared_ && rest_end_ && OffloadRun::now() < *rest_end_;
    if (rests) {
      run_came_.wait_until(lock, std::chrono::steady_clock::time_point(*rest_end_));
      continue;
    }
    if (run_ && run_.get() != before) return run_;
    run_came_.wait(lock);
  }
  return nullptr;
}

void OffloadCrew::call_workers(Team& team) {
  {
    const std::lock_guard lock(mutex_);
    callers_ += pieces_per_worker;
  }
  std::shared_ptr<OffloadRun> run;
  while ((run = await_run(team, run.get())) != nullptr && serve(team, *run)) {
  }
  const std::lock_guard lock(mutex_);
  callers_ -= pieces_per_worker;
}

/// False: the lease has ended.
bool OffloadCrew::serve(Team& team, OffloadRun& run) {
  auto parting = OffloadRun::Parting::useless;
  try {
    Lease& lease = team.recruited.lease;
    const LeasedFunction function = lease.function(run.function());
    std::array<ParticipantId, pieces_per_worker> participants{};
    for (ParticipantId& one : participants) one = run.join(team.recruited.kind);
    parting = run.work_there(participants, lease, function);
  } catch (const Error& error) {  // no worker loads this module: others may
    if (error.kind() == ErrorKind::lease_ended) parting = OffloadRun::Parting::worker_gone;
  }
  if (parting != OffloadRun::Parting::worker_gone) return true;
  {
    const std::lock_guard lock(mutex_);
    team.ended = true;
  }
  notify_all();
  return false;
}

}  // namespace orchid::sdk
