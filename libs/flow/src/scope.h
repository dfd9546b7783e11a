// scope.h: one document of a flow as it was checked, before flows that are nodes are taken apart.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/checker.h"
#include "flow/plan.h"

namespace orchid::flow {

/// Where a value comes from, in the words of one document.
struct ScopeSource {
  Source::Kind kind = Source::Kind::input;
  std::size_t index = 0;   // of an input or a node
  std::size_t output = 0;  // of a node that is a flow, which of its outputs
  Value constant;
  bool durable = false;  // what goes over the edge is kept as a file
};

struct Scope;

struct ScopeNode {
  std::string name;
  bool is_known = false;  // whether its ports are; a fault says why not
  PlannedNode planned;    // for a flow, its name and ports only
  std::unique_ptr<Scope> flow;
  std::vector<std::optional<ScopeSource>> sources;  // of its ports
};

struct ScopeOutput {
  std::string name;
  PortType type;
  ScopeSource source;
};

struct Scope {
  std::string name;
  std::vector<PlannedInput> inputs;
  std::vector<ScopeNode> nodes;
  std::vector<ScopeOutput> outputs;
  std::vector<std::size_t> order;  // of nodes: each behind those that it needs
};

/// What can be connected to a node.
[[nodiscard]] NodeShape shape_of(const ScopeNode& node);

/// A fault for each edge that is durable and brings what no node makes: an input or a constant,
/// also where a flow hands it through. Of a scope without faults.
void find_durable_of_nobody(const Document& document, const Scope& scope,
                            std::vector<Fault>& faults);

/// A fault if the plan has something durable, and nobody keeps data as files.
void find_files(const Document& document, const Surroundings& surroundings, Checked& checked);

/// Of a scope without faults, which gives its nodes away: of a large flow they take much memory.
[[nodiscard]] Plan plan_of(Scope scope);

}  // namespace orchid::flow
