// flow/outlook.h: what a flow would do, as far as that is known before it runs: `orchid flow plan`.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flow/optimiser.h"
#include "flow/plan.h"

namespace orchid::flow {

struct OutlookOptions {
  std::uint32_t at_once = 1;               // calls that run side by side
  std::map<std::string, double> seconds;   // of one call of a function, where that is known
  std::vector<Value> inputs;               // as the plan has them; null: not known
  std::vector<ObjectSituation> objects{};  // of these, as far as they are known
  std::vector<HostSituation> hosts{};      // none: not known
  std::vector<KeptVariants> kept{};        // what flows before have learned
};

struct NodeOutlook {
  std::uint32_t wave = 0;  // nodes of one wave wait for nothing but earlier ones
  /// All that it makes. Nothing: a function says so when it has run, see `why`.
  std::optional<std::uint64_t> calls;
  std::string why;            // where the number comes from
  std::uint32_t at_once = 1;  // of them run side by side, at most
  /// It lasts so long, with what its data takes to the host where it would end first; nothing: its
  /// functions' times are not known.
  std::optional<double> seconds;
  bool is_least = false;     // `seconds` holds for one piece or step, and there may be more
  bool is_critical = false;  // the flow takes so long because of it
};

struct Outlook {
  std::vector<NodeOutlook> nodes;  // as the plan has them
  std::uint32_t waves = 0;
  /// Along the critical path; nothing: the times of some of its nodes are not known.
  std::optional<double> seconds;
  bool is_least = false;
};
[[nodiscard]] Outlook outlook_of(const Plan& plan, const OutlookOptions& options);

}  // namespace orchid::flow
