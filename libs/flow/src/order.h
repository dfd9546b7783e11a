// order.h: the order in which the nodes of a document can run.
#pragma once
#include <cstddef>
#include <vector>

#include "scope.h"

namespace orchid::flow {

struct Order {
  std::vector<std::size_t> nodes;  // each behind those that it needs; not all if there is a cycle
  std::vector<std::size_t> cycle;  // one of them, in the direction of its edges; empty: none
};
[[nodiscard]] Order order_of(const std::vector<ScopeNode>& nodes);

}  // namespace orchid::flow
