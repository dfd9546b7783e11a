// What can be connected to the nodes of a document.
#include "scope.h"

namespace orchid::flow {

NodeShape shape_of(const ScopeNode& node) {
  NodeShape shape{.node = node.name, .is_known = node.is_known, .ports = {}, .outputs = {}};
  if (!node.is_known) return shape;
  for (const PlannedPort& port : node.planned.ports)
    shape.ports.push_back({.name = port.name, .type = port.type});
  if (!node.flow) {
    shape.outputs.push_back({.name = {}, .type = node.planned.gives});
    return shape;
  }
  for (const ScopeOutput& output : node.flow->outputs)
    shape.outputs.push_back({.name = output.name, .type = output.type});
  return shape;
}

}  // namespace orchid::flow
