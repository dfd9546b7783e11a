// offload/offload_run.h: one range on its way, shared by the threads that work on it.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "offload/piece_schedule.h"
#include "orchid/offload.h"

namespace orchid::sdk {

/// The user's work may be gone when a worker's answer comes late: whoever touches it is counted
/// while it does, and the run's end waits for these, but for no call. `mutex_` guards the schedule
/// and is never held while user code runs or a call is waited for.
class OffloadRun {
 public:
  /// `shared_host`: there are workers of this host, whether they join or not.
  OffloadRun(const OffloadWork& work, const WorkerGain& gain, bool shared_host);
  OffloadRun(const OffloadRun&) = delete;
  OffloadRun& operator=(const OffloadRun&) = delete;

  [[nodiscard]] static PieceSchedule::Time now();

  // Local threads.
  /// Until all is done or the run has failed.
  void work_here(ParticipantId participant);
  /// After the local threads: waits for those that still touch the work. Throws why it failed.
  OffloadReport end();

  // Anybody.
  [[nodiscard]] ParticipantId join(ParticipantKind kind);

  // A thread of a worker.
  enum class Parting : std::uint8_t { run_over, useless, worker_gone };
  /// Each participant has one piece at a time, so that the worker finds the next one in its lane.
  /// Until there is nothing more for this thread, or its lease has ended.
  [[nodiscard]] Parting work_there(std::span<const ParticipantId> participants, Lease& lease,
                                   const LeasedFunction& function);
  [[nodiscard]] const EmbeddedFunction& function() const { return function_; }
  /// For the next run.
  [[nodiscard]] WorkerGain gain();

 private:
  using Assignment = PieceSchedule::Assignment;
  class Visit;
  struct Input;
  /// A piece that a worker has.
  struct Sent {
    ParticipantId participant;
    Assignment assignment;
    std::shared_ptr<AsyncCall> call;
  };

  [[nodiscard]] std::optional<Assignment> next_assignment(ParticipantId participant);
  /// The same without waiting.
  [[nodiscard]] std::optional<Assignment> assignment_now(ParticipantId participant);
  void count_result(AssignmentId assignment, PieceSchedule::Time busy, OffloadWork::Apply apply);
  /// When the schedule wants to know; for workers that share this host.
  void look_at_host();
  void fail(std::exception_ptr why);
  [[nodiscard]] std::optional<Input> prepare(Assignment& assignment, Lease& lease);
  [[nodiscard]] std::shared_ptr<AsyncCall> send(Assignment& assignment, Lease& lease,
                                                const LeasedFunction& function);
  void take_answer(const Assignment& assignment, Output output);
  [[nodiscard]] Parting give_back(AssignmentId assignment, const Error& why);

  const OffloadWork& work_;           // only during a Visit, and by local threads
  const EmbeddedFunction& function_;  // constant
  std::stop_source stop_;             // of the calls
  const CallOptions call_options_;
  std::atomic<bool> shared_host_;                 // with workers
  std::atomic<PieceSchedule::Time> next_look_{};  // at it

  std::mutex mutex_;
  std::condition_variable changed_;
  PieceSchedule schedule_;                                   // guarded by mutex_
  std::map<PieceId, std::vector<OffloadWork::Apply>> held_;  // guarded by mutex_
  std::exception_ptr failure_;                               // guarded by mutex_
  bool over_ = false;                                        // guarded by mutex_
  unsigned visits_ = 0;                                      // guarded by mutex_
  unsigned workers_ = 0;                                     // guarded by mutex_
  std::size_t failed_ = 0;                                   // guarded by mutex_
};

}  // namespace orchid::sdk
