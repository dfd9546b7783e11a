// Whether there is somebody for what a flow wants to be durable.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

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

/// Where it comes from in the end, in the words of this scope or of one inside. There is no cycle.
const ScopeSource& origin_of(const Scope& scope, const ScopeSource& source) {
  const ScopeSource* from = &source;
  while (from->kind == Source::Kind::node && scope.nodes[from->index].flow != nullptr) {
    const ScopeNode& node = scope.nodes[from->index];
    const ScopeSource& inside = origin_of(*node.flow, node.flow->outputs[from->output].source);
    if (inside.kind != Source::Kind::input) return inside;
    from = &*node.sources[inside.index];
  }
  return *from;
}

}  // namespace

void find_durable_of_nobody(const Document& document, const Scope& scope,
                            std::vector<Fault>& faults) {
  std::map<std::string, Place> durable;  // edges, by where they end
  for (const Edge& edge : document.edges)
    if (edge.durable) durable.emplace(edge.to.text, edge.place);
  if (durable.empty()) return;
  for (const ScopeNode& node : scope.nodes)
    for (std::size_t port = 0; port < node.sources.size(); ++port) {
      auto edge = durable.find(node.name + "." + node.planned.ports[port].name);
      if (edge == durable.end()) edge = durable.find(node.name);  // its only port
      if (edge == durable.end() || origin_of(scope, *node.sources[port]).kind == Source::Kind::node)
        continue;
      faults.push_back(
          {.file = document.file,
           .place = edge->second,
           .message = fmt::format("no node makes what comes to '{}': have it kept as a file with "
                                  "'orchid data keep', and take 'durable' away",
                                  edge->first)});
    }
}

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
