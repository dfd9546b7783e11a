// flow/checker.h: from a document to a plan, or to everything that is wrong with it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "flow/document.h"
#include "flow/plan.h"
#include "flow/port_type.h"
#include "foundation/result.h"

namespace orchid::flow {

/// What somebody who knows the deployed functions says of one.
struct KnownFunction {
  enum class State : std::uint8_t {
    known,
    missing,    // `message` says so, and what to do
    not_asked,  // nobody is there to ask: the document's own word counts
  };
  State state = State::not_asked;
  std::string signature;  // empty: it takes and gives bytes
  std::string exact;      // a reference to just this version of it; may be empty
  std::string message;
};

struct Surroundings {
  /// Asked once for each function.
  std::function<KnownFunction(const std::string& reference)> function;
  /// The text of the document `file`, which a node of the document `beside` names; and under which
  /// name it is known from then on.
  struct Opened {
    std::string file;
    std::string text;
  };
  std::function<Result<Opened>(const std::string& file, const std::string& beside)> open;
  /// Whether an executor keeps data as files, for flows that want some to be durable. Empty: nobody
  /// is there to ask.
  std::function<bool()> keeps_files{};
};

/// What can be connected to a node, as far as that is known: for who draws a flow.
struct NodeShape {
  struct End {
    std::string name;  // empty: a node's one output
    PortType type;
  };
  std::string node;
  bool is_known = false;  // false: it has neither, and a fault says why
  std::vector<End> ports;
  std::vector<End> outputs;
};

struct Checked {
  Plan plan;                      // counts only without faults
  std::vector<Fault> faults;      // all of them, in order
  std::vector<NodeShape> shapes;  // also with faults: of each node of the document, in its order
};
/// Of a document that could be parsed without faults.
[[nodiscard]] Checked check(const Document& document, const Surroundings& surroundings);

}  // namespace orchid::flow
