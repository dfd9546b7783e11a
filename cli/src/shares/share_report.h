// shares/share_report.h: the shares in what a gateway says of its hosts.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "protocol/core_list.h"

namespace orchid::cli {

/// A share on one node.
struct NodeShare {
  std::uint64_t job = 0;
  std::string node;
  std::string state;  // "connected", "lost"
  CoreList cores;     // that are offered now
  std::uint64_t cores_leased = 0;
  std::optional<std::int64_t> ends_in_ms;
};

/// Those of that job, or all; by job and node. Throws nlohmann's exceptions when it is no such
/// document. `hosts`: the answer to GET /v1/hosts.
[[nodiscard]] std::vector<NodeShare> shares_in(const nlohmann::json& hosts,
                                               std::optional<std::uint64_t> job);

}  // namespace orchid::cli
