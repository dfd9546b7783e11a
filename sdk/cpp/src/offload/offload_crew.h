// offload/offload_crew.h: the threads of an OffloadPool, and the workers that they call.
#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "offload/offload_run.h"
#include "offload/worker_source.h"

namespace orchid::sdk {

/// One thread recruits: it asks for a lease until there is one, and again when that has ended. Two
/// threads for each worker call it, so that one piece is on its way while another is computed. They
/// last as long as their lease. `mutex_` is never held while anybody is waited for.
class OffloadCrew {
 public:
  OffloadCrew(unsigned local_threads, std::unique_ptr<WorkerSource> source);
  OffloadCrew(const OffloadCrew&) = delete;
  OffloadCrew& operator=(const OffloadCrew&) = delete;
  ~OffloadCrew();

  OffloadReport run(const OffloadWork& work);
  [[nodiscard]] unsigned callers() const;

 private:
  /// A lease and the threads that call its workers.
  struct Team {
    explicit Team(Recruits recruits) : recruited(std::move(recruits)) {}
    Recruits recruited;
    bool ended = false;             // guarded by mutex_
    std::list<std::jthread> calls;  // the recruiting thread's
  };

  [[nodiscard]] std::shared_ptr<OffloadRun> begin_run(const OffloadWork& work);
  void notify_all();
  void recruit();
  void lead(Team& team);
  void call_workers(Team& team);
  [[nodiscard]] std::shared_ptr<OffloadRun> await_run(const Team& team, const OffloadRun* before);
  [[nodiscard]] bool serve(Team& team, OffloadRun& run);

  const unsigned local_threads_;
  const std::unique_ptr<WorkerSource> source_;
  std::mutex one_run_;  // held by `run`
  WorkerGain gain_;     // guarded by one_run_; of the runs before

  mutable std::mutex mutex_;
  std::condition_variable changed_;   // for the recruiter
  std::condition_variable run_came_;  // for those that call workers
  bool stopping_ = false;             // guarded by mutex_
  unsigned callers_ = 0;              // guarded by mutex_
  bool host_is_shared_ = false;       // with the workers of the team; guarded by mutex_
  std::shared_ptr<OffloadRun> run_;   // guarded by mutex_; shared with calls that outlast it
  /// Before that, workers that share this host have nothing to do, and their threads do not even
  /// wake up for a run: each time would take some 20 us from a local thread. Guarded by mutex_.
  std::optional<PieceSchedule::Time> rest_end_;
  std::thread recruiter_;  // last: it uses all of the above
};

}  // namespace orchid::sdk
