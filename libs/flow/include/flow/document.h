// flow/document.h: a flow as people write it, in YAML or JSON: nodes, their ports, and the edges
// between them. flow.schema.json says the same to editors.
//
//   flow: sums
//   functions:
//     dot: f64(span<f64>,span<f64>)
//   inputs:
//     a: span<f64>
//   nodes:
//     square: {kind: call, function: dot, takes: [x, y]}
//   edges:
//     - {from: a, to: square.x}
//     - {from: a, to: square.y}
//   outputs:
//     result: square
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/fault.h"
#include "foundation/result.h"

namespace orchid::flow {

enum class NodeKind : std::uint8_t { call, map, reduce, iterate, condition, master, divide, flow };
/// As documents have it: "call", "map", "reduce", "iterate", "if", "master", "divide", "flow".
[[nodiscard]] std::string_view to_string(NodeKind kind);

/// A function of a node, and the ports of the node that are its arguments.
struct Step {
  Word function;            // "?": left open, as templates do; empty: the node has none
  std::vector<Word> takes;  // names of ports
  bool says_takes = false;  // otherwise its place in the node says what it takes
  [[nodiscard]] bool exists() const { return !function.text.empty(); }
};

/// Outcomes that are tried again: what the platform, and not the function, is to blame for.
[[nodiscard]] const std::vector<std::string>& outcomes_of_the_platform();

/// How often a call of a node is made before the node fails.
struct RetryPolicy {
  unsigned attempts = 3;                    // 1 to 100
  std::chrono::milliseconds back_off{100};  // before the second; twice as long before each further
  std::vector<std::string> outcomes = outcomes_of_the_platform();
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// What says that a map or an iteration may end.
enum class Until : std::uint8_t {
  never,
  found,     // a result that is not 0, false or empty
  function,  // Node::until says so of a result
};

/// Where a node's calls may run. Empty: anywhere.
struct Constraints {
  std::string kind{};     // of the host: "cpu", "gpu", "dpu"
  std::string device{};   // of the worker: "cores" (without a GPU), "gpu"
  std::string cluster{};  // of the host: its batch system's name
  [[nodiscard]] bool exist() const { return !kind.empty() || !device.empty() || !cluster.empty(); }
  friend bool operator==(const Constraints&, const Constraints&) = default;
};

/// One node as it was written. Which fields count depends on the kind.
struct Node {
  Word name;
  NodeKind kind = NodeKind::call;
  std::vector<Word> takes;  // its ports, in the order of its function's arguments
  Step function;            // call; reduce: joins a group of elements; iterate: one step
  Step partition;           // map; master: hands out work; divide: divides
  Step each;                // map: one piece; master: a piece of work; divide: solves
  Step merge;               // map; master: gathers; divide: combines
  Step if_true, if_false;   // if
  /// call, map, reduce, iterate: functions of which each does what `function` or `each` does.
  std::vector<Word> variants;
  Step until;  // map, iterate
  Until ends = Until::never;
  Word file;                // flow: where its document is
  std::uint32_t fan = 16;   // reduce: elements of a group, 2 to 65536
  std::uint32_t times = 0;  // iterate: calls at most, from 1; 0: the function says when it is done
  std::chrono::nanoseconds budget{0};  // iterate with a step function: of each batch; 0: not said
  std::uint32_t steps = 0;             // the same in steps; 0: as many as there is time for
  std::uint32_t durable = 0;           // iterate: each so many'th state is kept as a file; 0: none
  std::uint32_t window = 0;  // calls of the node that run at once; 0: as many as the flow may
  std::chrono::nanoseconds deadline{0};  // of each call; 0: the platform's own
  RetryPolicy retry;
  Constraints constraints;
};

/// From a node, an input or a value, to a port of a node.
struct Edge {
  Place place;
  Word from;                        // "node", "node.output" (of a flow), or an input's name
  std::optional<std::string> json;  // a value; then `from` is empty
  Word to;                          // "node.port", or "node" if it has one port
  bool durable = false;             // what goes over it is kept as a file
};

/// What decides how a flow runs (flow/optimiser.h): one of ours by its name, or a library by its
/// path, which then has a '/'.
struct OptimiserChoice {
  Word name;
  std::vector<std::pair<Word, Word>> options;
  [[nodiscard]] bool is_library() const { return name.text.find('/') != std::string::npos; }
};

struct Document {
  std::string file;  // for faults; may be empty
  Word name;
  std::vector<std::pair<Word, Word>> functions;  // reference, signature or "bytes"
  std::vector<std::pair<Word, Word>> inputs;     // name, type
  std::vector<OptimiserChoice> optimisers;       // in the order in which they decide
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::pair<Word, Word>> outputs;  // name, from
};

/// What could be read, and all that could not.
struct Parsed {
  Document document;
  std::vector<Fault> faults;
};
/// `file` is named in faults, and nothing is read from it.
[[nodiscard]] Parsed parse_document(const std::string& text, const std::string& file);

/// The document in one form, with nothing that goes without saying: the same for all ways to write
/// a flow.
[[nodiscard]] std::string to_yaml(const Document& document);
[[nodiscard]] std::string to_json(const Document& document);

}  // namespace orchid::flow
