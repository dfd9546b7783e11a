// pilot/pilot_guard.h: what becomes of the pilots that wait when their gateway has gone.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "pilot/ending.h"
#include "pilot/slurm_commands.h"

namespace orchid::pilot {

/// Whether a gateway has this state directory now: it locks a file in it. Only on its host.
[[nodiscard]] bool has_gateway(const std::filesystem::path& state);

/// The time from a gateway's end until it is given up. A value.
class Outage {
 public:
  enum class Verdict : std::uint8_t { wait, back, over };
  Outage(MonotonicTime began, std::chrono::seconds grace) : began_(began), grace_(grace) {}
  /// To be called every second or so. `runs`: a gateway has the state directory; at first that may
  /// still be the one that ends.
  [[nodiscard]] Verdict look(MonotonicTime now, bool runs);

 private:
  MonotonicTime began_;
  std::chrono::seconds grace_;
  bool was_gone_ = false;
};

/// Those that no gateway's absence ends in time: they wait, Slurm has suspended them, or they began
/// after `outage` had, and their executors have only just begun to miss a gateway. Those of pilots
/// that run for longer have noticed it by themselves.
[[nodiscard]] std::vector<std::uint64_t> jobs_to_cancel(const std::vector<PilotJob>& jobs,
                                                        std::chrono::milliseconds outage);

struct GuardOptions {
  std::filesystem::path state;  // the gateway's
  std::chrono::seconds grace;   // how long it may be away
  std::function<void(const std::string& line)> say;
};
/// The gateway has ended: waits until it is back, its grace is over and its pilots are cancelled,
/// or `ending` comes. Errors: `bad_configuration`, those of `SlurmCommands` when it has not
/// answered for an hour.
[[nodiscard]] Result<void> outlast_gateway(const SlurmCommands& slurm, const GuardOptions& options,
                                           const Ending& ending);

}  // namespace orchid::pilot
