// benchmarks/wide_flow.h: a flow of very many calls that do not wait for each other.
#pragma once
#include <string>

namespace orchid::bench {

/// Each gives its input `n`; the outputs are r0, r1 and so on.
inline std::string wide_flow(int nodes) {
  std::string text =
      "flow: wide\nfunctions: {flow_functions.same: 'u64(u64)'}\ninputs: {n: u64}\nnodes:\n";
  for (int i = 0; i < nodes; ++i)
    text += "  n" + std::to_string(i) + ": {kind: call, function: flow_functions.same}\n";
  text += "edges:\n";
  for (int i = 0; i < nodes; ++i) text += "- {from: n, to: n" + std::to_string(i) + "}\n";
  text += "outputs:\n";
  for (int i = 0; i < nodes; ++i) {
    const std::string name = std::to_string(i);
    text.append("  r").append(name).append(": n").append(name).append("\n");
  }
  return text;
}

}  // namespace orchid::bench
