// flow/plan.h: a flow that has been checked, in the form in which the engine runs it: flows that
// were nodes are taken apart, and names are numbers.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flow/document.h"
#include "flow/port_type.h"
#include "flow/values.h"

namespace orchid::flow {

/// Where the value at a port comes from: inputs, constants and nodes have numbers of their own.
struct Source {
  enum class Kind : std::uint8_t { input, constant, node };
  Kind kind = Kind::constant;
  std::uint32_t index = 0;
  friend bool operator==(const Source&, const Source&) = default;
};

/// A call that a node makes.
struct PlannedCall {
  std::string function;  // as the platform knows it; empty: the node has none
  std::string signature;
  /// Ports of the node whose values are its arguments; before them comes what the call is about: a
  /// piece, a group, a state, a result.
  std::vector<std::uint32_t> ports;
  PortType result;
  [[nodiscard]] bool exists() const { return !function.empty(); }
};

struct PlannedPort {
  std::string name;
  PortType type;
  Source source;
};

/// PlannedNode::times of an iteration whose function alone says when it is done.
inline constexpr std::uint32_t no_bound = ~std::uint32_t{0};

struct PlannedNode {
  std::string name;  // "outer/inner" for a node of a flow that was a node
  NodeKind kind = NodeKind::call;
  std::vector<PlannedPort> ports;
  PlannedCall main;  // call, reduce, iterate, each of a map; if: when it is true; see Node::each
  PlannedCall partition, merge, if_false, until;
  std::vector<PlannedCall> variants;  // of `main`: any of them may be called in its place
  /// The flow is optimised by `grid`, and there are variants.
  bool chooses_variant = false;
  /// map: a call is given a span of pieces, as many as suits; otherwise one piece.
  bool in_runs = false;
  /// iterate: its function is a step function, whose batches may do so much.
  bool is_step = false;
  std::chrono::nanoseconds budget{0};
  std::uint32_t steps = 0;    // 0: as many as there is time for
  std::uint32_t durable = 0;  // iterate: each so many'th state is kept as a file; 0: none
  /// What it gives is kept as a file, until the flow has ended.
  bool keeps_value = false;
  PortType pieces;  // map: a span of pieces; reduce: of elements; master, divide: of what is done
  PortType gives;
  Until ends = Until::never;
  std::uint32_t fan = 16;
  std::uint32_t times = 1;
  std::uint32_t window = 0;
  /// The flow is optimised by `device`, and its main function runs on a GPU as well as on a worker
  /// with so many cores; 0: there is nothing to choose.
  std::uint32_t cores_of_call = 0;
  std::chrono::nanoseconds deadline{0};
  RetryPolicy retry;
  Constraints constraints;
  std::vector<std::uint32_t> consumers;  // nodes, each as often as it has ports that want the value
  bool is_output = false;
};

struct PlannedInput {
  std::string name;
  PortType type;
};

struct PlannedOutput {
  std::string name;
  PortType type;
  Source source;
};

struct PlannedOptimiser {
  std::string name;  // or the path of a library, as it was written
  std::map<std::string, std::string> options;
  [[nodiscard]] bool is_library() const { return name.find('/') != std::string::npos; }
  /// Whether it may say how many pieces a call has.
  [[nodiscard]] bool decides_runs() const { return is_library() || name == "granularity"; }
};

/// Immutable once it is made. Nodes stand behind those that they need.
struct Plan {
  std::string name;
  std::vector<PlannedInput> inputs;
  std::vector<Value> constants;
  std::vector<PlannedNode> nodes;
  std::vector<PlannedOutput> outputs;
  /// For functions that were deployed when the flow was checked: the version that was checked,
  /// which is the one to call. Not in the fingerprint: a flow may go on with functions that were
  /// mended.
  std::map<std::string, std::string> exact;
  /// What workers of functions have, where that is not one core: "1 core, 1 GPU | 4 cores". Not in
  /// the fingerprint either.
  std::map<std::string, std::string> needs;
  /// In the order in which they decide. Not in the fingerprint: what a flow gives is the same with
  /// any.
  std::vector<PlannedOptimiser> optimisers;
  /// Of the rest: a snapshot of another plan is refused by it.
  std::uint64_t fingerprint = 0;
};

/// Whether a node says where its calls run: they go through the gateway then, which knows hosts.
[[nodiscard]] bool has_constraints(const Plan& plan);

/// Sets PlannedNode::cores_of_call.
void find_choices_of_devices(Plan& plan);
/// Sets PlannedNode::chooses_variant.
void find_choices_of_variants(Plan& plan);

/// What to call for a function of the plan.
[[nodiscard]] const std::string& exact_name(const Plan& plan, const std::string& function);

/// The functions that the plan calls, each once, with their signatures.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> functions_of(const Plan& plan);

/// How much a batch of a step function may do: "1s", "250ms or 9 steps".
[[nodiscard]] std::string batch_text(const PlannedNode& node);

/// As text: a line for each input, node and output, with what goes where.
[[nodiscard]] std::string to_text(const Plan& plan);
/// As a picture for Graphviz.
[[nodiscard]] std::string to_dot(const Plan& plan);

}  // namespace orchid::flow
