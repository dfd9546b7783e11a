#include "order.h"

#include <algorithm>

namespace orchid::flow {
namespace {

bool is_from_node(const std::optional<ScopeSource>& source) {
  return source && source->kind == Source::Kind::node;
}

/// From any node that waits, back along what it waits for, until a node comes again.
std::vector<std::size_t> cycle_in(const std::vector<ScopeNode>& nodes,
                                  const std::vector<std::size_t>& needs) {
  const auto waiting = std::ranges::find_if(needs, [](std::size_t count) { return count != 0; });
  std::vector<std::size_t> path;
  std::vector<bool> seen(nodes.size(), false);
  auto at = static_cast<std::size_t>(waiting - needs.begin());
  while (!seen[at]) {
    seen[at] = true;
    path.push_back(at);
    const auto next = std::ranges::find_if(nodes[at].sources, [&](const auto& source) {
      return is_from_node(source) && needs[source->index] != 0;
    });
    at = (*next)->index;
  }
  path.erase(path.begin(), std::ranges::find(path, at));
  std::ranges::reverse(path);
  return path;
}

}  // namespace

Order order_of(const std::vector<ScopeNode>& nodes) {
  Order order;
  std::vector<std::size_t> needs(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> consumers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const auto& source : nodes[i].sources)
      if (is_from_node(source)) {
        consumers[source->index].push_back(i);
        ++needs[i];
      }
  for (std::size_t i = 0; i < needs.size(); ++i)
    if (needs[i] == 0) order.nodes.push_back(i);
  for (std::size_t done = 0; done < order.nodes.size(); ++done)
    for (const std::size_t consumer : consumers[order.nodes[done]])
      if (--needs[consumer] == 0) order.nodes.push_back(consumer);
  if (order.nodes.size() != nodes.size()) order.cycle = cycle_in(nodes, needs);
  return order;
}

}  // namespace orchid::flow
