// pilot/pilot_keeper.h: submits and cancels pilots by the gateway's demand: `orchid pilot keep`.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "pilot/batch_script.h"
#include "pilot/ending.h"
#include "pilot/look_interval.h"
#include "pilot/pilot_controller.h"
#include "pilot/slurm_commands.h"
#include "pilot/submission_gate.h"

namespace orchid::pilot {

/// Owned by main's thread. It asks Slurm only while there is demand or a pilot, and now and then.
class PilotKeeper {
 public:
  struct Options {
    PilotOptions controller;
    PilotRequest request;  // what is said of cores, memory, GPUs, time and node in it is
                           // chosen for each pilot
  };
  struct Parts {
    std::function<std::string(const std::string& path)> get;  // from the gateway; may throw
    const SlurmCommands& slurm;
    const SubmissionGate& gate;
    const Clock& clock;
    std::function<void(const std::string& line)> say;  // what it did, and why it could not
  };
  static constexpr std::chrono::seconds look_every = look_interval;
  static constexpr std::chrono::seconds look_when_idle{60};  // at the queue
  /// After a failure to read the queue; doubles, from `look_every` on.
  static constexpr std::chrono::seconds longest_pause{60};

  PilotKeeper(Options options, Parts parts);
  /// One look, and what it leads to. Throws what `get` throws. Errors: `bad_request` when the
  /// gateway's answer is none.
  [[nodiscard]] Result<void> look();

 private:
  /// What it was asked for, and how far it has come.
  struct Submitted {
    SubmitPilot wanted;
    std::string node;  // as far as is known
    bool joined = false;
    bool cancelled = false;
  };

  [[nodiscard]] std::optional<std::vector<PilotJob>> read_queue();
  void forget_what_is_gone(const std::vector<PilotJob>& jobs, MonotonicTime now);
  [[nodiscard]] bool was_taken_back(std::uint64_t job, MonotonicTime now);
  [[nodiscard]] std::vector<std::string> partitions_of_pilots();
  void follow(const Pilot& one);
  void cancel_what_never_starts(std::vector<PilotJob>& jobs, MonotonicTime now);
  [[nodiscard]] std::filesystem::path log_folder() const {
    return options_.request.log_file.parent_path();
  }
  void say_trouble(const std::string& trouble);
  void note_troubles() const;
  void was_refused(const Failure& refusal, const SubmitPilot& wanted, MonotonicTime now);
  void act(const std::vector<PilotAction>& actions, const std::set<std::uint64_t>& listed,
           MonotonicTime now);
  [[nodiscard]] bool is_as_listed(const std::set<std::uint64_t>& listed);
  void cancel(const CancelPilot& unwanted);
  [[nodiscard]] std::optional<UniqueFd> may_submit();
  [[nodiscard]] bool submit(const SubmitPilot& wanted, MonotonicTime now);
  void complete(Pilot& known) const;
  void say_what_is_hopeless();

  Options options_;
  Parts parts_;
  PilotController controller_;
  std::map<std::uint64_t, Submitted> submitted_;  // by job; those that wait or run
  std::string trouble_;                           // of the last pilot; "": it has joined
  std::set<std::string> hopeless_;                // demand that no pilot can serve, as it was said
  bool has_pilots_ = true;                        // as far as is known
  MonotonicTime listed_;
  MonotonicTime ask_again_;                       // for the queue, not before
  std::chrono::seconds pause_ = look_every;       // after the next failure to read it
  unsigned taken_back_ = 0;                       // pilots since the last one that has joined
  std::string cluster_;                           // that Slurm's commands ask; "": not known yet
  std::optional<std::string> default_partition_;  // "": there is none; nothing: not known yet
  std::string last_trouble_;
  bool paused_ = false;  // that has been said
};

/// Until `ending` comes. Throws what `get` throws, or fails as a look does, once the gateway has
/// not answered for a while: its pilots end by themselves then.
[[nodiscard]] Result<void> keep_pilots(PilotKeeper& keeper, const Clock& clock,
                                       const Ending& ending);

}  // namespace orchid::pilot
