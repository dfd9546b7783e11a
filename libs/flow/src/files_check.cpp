// Whether there is somebody for what a flow wants to be durable.
#include <algorithm>

#include "scope.h"

namespace orchid::flow {
namespace {

/// The first that says so; of a flow that is a node, the document's beginning.
Place place_of_durable(const Document& document) {
  for (const Edge& edge : document.edges)
    if (edge.durable) return edge.place;
  for (const Node& node : document.nodes)
    if (node.durable != 0) return node.name.place;
  return document.name.place;
}

}  // namespace

void find_files(const Document& document, const Surroundings& surroundings, Checked& checked) {
  const bool wants = std::ranges::any_of(checked.plan.nodes, &PlannedNode::keeps_value);
  if (!wants || !surroundings.keeps_files || surroundings.keeps_files()) return;
  checked.faults.push_back(
      {.file = document.file,
       .place = place_of_durable(document),
       .message = "'durable' needs an executor that keeps data as files, and none that is there "
                  "does: start one with --data-durable DIRECTORY ('orchid up --data-durable', for "
                  "one's own), or take 'durable' away"});
}

}  // namespace orchid::flow
