// share/share_report.h: the shares in what a gateway says of its hosts.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "protocol/core_list.h"

namespace orchid::share {

/// A share on one node.
struct NodeShare {
  std::uint64_t job = 0;
  std::string node;
  std::string state;  // "connected", "lost"
  CoreList cores;     // that are offered now
  std::uint64_t cores_leased = 0;
  std::optional<std::int64_t> ends_in_ms;
};

/// What the gateway answers to GET of that path. May throw.
using GatewayQuestion = std::function<std::string(const std::string& path)>;

/// Those of that job, or all; by job and node. Throws what `get` throws. Errors: `bad_request` when
/// the answer is no such document.
[[nodiscard]] Result<std::vector<NodeShare>> shares_of(const GatewayQuestion& get,
                                                       std::optional<std::uint64_t> job);

}  // namespace orchid::share
