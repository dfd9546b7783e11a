// flow/optimiser.h: what decides how a flow runs: which of the nodes that are ready go first, how
// many pieces a call is given, how many calls are open. Plain decisions over plain data: what an
// optimiser sees is a Situation, and what it says is an event of the engine (Decided), so that who
// keeps a journal of events keeps decisions, too.
//
// A library of a user sees and says the same (flow/optimiser_abi.h), in a process of its own.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/engine.h"
#include "flow/plan.h"
#include "flow/variants.h"
#include "foundation/result.h"
#include "protocol/data_id.h"

namespace orchid::flow {

/// A host on which workers may be.
struct HostSituation {
  std::string name;
  std::string kind;  // "cpu", "gpu", "dpu"
  std::uint32_t cores = 0;
  std::uint32_t cores_free = 0;
  std::uint32_t gpus_free = 0;
  double speed = 1;               // of its cores; the mean of all hosts is 1; 1: not known
  std::optional<double> watts{};  // that it draws now; nothing: it does not report that
  double watts_per_core = 0;      // more, for a core that works; declared
  std::uint32_t cores_own = 0;    // of the free ones, those that the flow itself has by now
  std::string cluster{};          // whose node it is; empty: of none
};

/// A data object at a port of a node. None has no bytes, and is on no host, if nobody knows it.
struct ObjectSituation {
  DataId id;
  std::uint64_t bytes = 0;
  std::vector<std::string> hosts{};  // that have it, or will in a moment
};

/// What goes from host to host in a second, where nobody has measured it: a connection of 10
/// Gbit/s.
inline constexpr double usual_bytes_per_second = 1e9;

/// A node that has calls to start.
struct ReadyNode {
  std::uint32_t node = 0;
  std::string name;
  NodeKind kind = NodeKind::call;
  std::string function;
  std::uint64_t input_bytes = 0;
  double seconds_to_end = 0;      // along the longest path from it, as far as is known; with data
  std::uint64_t pieces_left = 0;  // not yet handed out: pieces, groups, calls
  std::uint64_t pieces_total = 0;
  std::uint32_t open_calls = 0;
  bool in_runs = false;             // a call may be given several pieces
  std::uint32_t cores_of_call = 0;  // as PlannedNode has it; 0: no choice of a device
  Constraints constraints{};        // of the hosts that its calls may use: flow/usable_hosts.h
  /// That its calls are given, as far as they have been looked at. A library does not see them.
  std::vector<ObjectSituation> data{};
  /// Of its function, for calls on each device that they may have; empty: there is no choice. A
  /// library does not see them.
  std::vector<VariantChoice> variants{};
};

/// A node that has not begun, and takes what one that runs will give.
struct ComingNode {
  std::uint32_t node = 0;
  std::string name;
  std::string function;
  std::string after;               // the name of one that it waits for
  std::uint32_t values_there = 0;  // at its ports
};

/// What calls of a function have taken in this flow: all of them, and of those that were to run on
/// cores, or on a GPU, apart. Of these the steps of a batch count as pieces.
struct FunctionTimes {
  std::string function;
  std::string host_kind;  // "cpu": on cores, "gpu"; empty: all of them
  std::uint64_t calls = 0;
  std::uint64_t pieces = 0;
  double run_seconds = 0;            // of all of them
  double recent_piece_seconds = 0;   // a piece of the last calls
  double slowest_piece_seconds = 0;  // a piece of the call whose pieces took longest
  double overhead_seconds = 0;       // the least that one took beside its run time
  [[nodiscard]] double seconds_of_piece() const {
    return pieces == 0 ? 0 : run_seconds / static_cast<double>(pieces);
  }
};

struct Situation {
  std::vector<ReadyNode> nodes;
  std::vector<ComingNode> coming{};
  /// Of nodes that run, also those without calls to start: each of them once. A library does not
  /// see them.
  std::vector<Constraints> running{};
  /// As if the flow had no workers, but for `cores_own` and `watts`; none: not known.
  std::vector<HostSituation> hosts;
  std::vector<FunctionTimes> times;
  std::uint32_t workers = 1;  // that run calls side by side
  std::uint32_t window = 1;   // calls that may be open
  /// Null: not known.
  [[nodiscard]] const FunctionTimes* times_of(std::string_view function,
                                              std::string_view host_kind = {}) const;
};

/// Owned by one thread.
class Optimiser {
 public:
  Optimiser() = default;
  virtual ~Optimiser() = default;
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// In the words of `orchid flow plan`: what it goes by.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Each `why` begins with its name. Errors: it cannot decide, now or ever again; its message says
  /// why, and `speed` decides in its place.
  [[nodiscard]] virtual Result<Decided> decide(const Situation& situation) = 0;
};

/// The one of this name that is ours. Null: there is none.
[[nodiscard]] std::unique_ptr<Optimiser> make_optimiser(const PlannedOptimiser& planned);

/// Which cores of which hosts may work, so that as much as possible is done with `watts` at most:
/// how many of each host, in their order. What a host draws by itself counts when one of its cores
/// works. The best of all choices, and not one that a greedy choice leads to.
[[nodiscard]] std::vector<std::uint32_t> cores_within(const std::vector<HostSituation>& hosts,
                                                      double watts);

/// For each node of the plan, how long the flow runs from its beginning on at least: its own time
/// and that of the longest way to the end, with what goes along the edges. Functions without a time
/// count as `unknown_seconds`.
struct RankOptions {
  std::vector<FunctionTimes> times;
  std::vector<std::uint64_t> bytes;   // that each node gives, where that is known; else 0
  std::vector<std::uint64_t> pieces;  // that each node has, where that is known; else 0
  std::uint32_t workers = 1;
  double bytes_per_second = usual_bytes_per_second;
  double unknown_seconds = 1e-3;
};
[[nodiscard]] std::vector<double> seconds_to_end(const Plan& plan, const RankOptions& options);

}  // namespace orchid::flow
