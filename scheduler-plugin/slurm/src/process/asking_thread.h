// process/asking_thread.h: the thread that speaks with libslurm, and may be stuck in it.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "cluster_poll.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "libslurm/client.h"

namespace orchid::slurm {

/// What the thread has found out.
struct Opened {
  std::string cluster;
  std::string release;
};
struct Polled {
  Result<PollAnswer> answer;
  PollCost cost;
};
using Outcome = std::variant<Result<Opened>, Polled>;

/// All but the thread itself belongs to the main thread. Never destroyed: a thread that is stuck in
/// libslurm cannot be ended but with the process.
class AskingThread {
 public:
  /// Opens libslurm at once; the first outcome says how that went.
  [[nodiscard]] static Result<AskingThread*> start(LibslurmOptions options, const Clock& clock);
  AskingThread(const AskingThread&) = delete;
  AskingThread& operator=(const AskingThread&) = delete;

  /// Only when it is not busy.
  void ask(PollRequest request);
  [[nodiscard]] std::optional<Outcome> take();
  /// Readable when there is an outcome.
  [[nodiscard]] int descriptor() const { return wake_.get(); }
  /// Since when it has been at work; nothing: it is not.
  [[nodiscard]] std::optional<MonotonicTime> busy_since() const { return busy_since_; }

 private:
  AskingThread(LibslurmOptions options, const Clock& clock, UniqueFd wake);
  void run();
  void give(Outcome outcome);
  [[nodiscard]] PollRequest wait_for_request();

  LibslurmOptions options_;
  const Clock& clock_;
  UniqueFd wake_;  // an eventfd
  std::optional<MonotonicTime> busy_since_;

  std::mutex mutex_;  // for what both threads touch: the next two
  std::condition_variable changed_;
  std::optional<PollRequest> request_;
  std::optional<Outcome> outcome_;
};

}  // namespace orchid::slurm
