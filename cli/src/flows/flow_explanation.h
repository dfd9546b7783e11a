// flows/flow_explanation.h: why the nodes of a flow that was handed over stand as they do.
#pragma once
#include <optional>
#include <string>

#include "terminal/shell.h"

namespace orchid::cli {

/// Each node's state, and what was last decided of it.
ExitStatus explain_flow(Shell& shell, const std::string& id);

struct NodeExplanation {
  ExitStatus status = ExitStatus::ok;
  std::string invocation{};  // the node's newest call, to be explained as any; empty: there is none
};
/// One node: its state, what it waits for, what was decided of it. Prints the whole with --json,
/// and else all but its newest call.
NodeExplanation explain_node(Shell& shell, const std::string& id, const std::string& node);

}  // namespace orchid::cli
