// crew/call_trace.h: where a call of a crew went, as its members have written it between the lines
// of its log (protocol/crew.h), and as its lease's gateway is told of it.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "orchid/invocation.h"

namespace orchid::sdk {

struct Trace {
  std::vector<CallStep> path;
  std::string log;  // with a line for each step, for people
};
/// A line that is no step's, though it looks like one, stays as it is.
[[nodiscard]] Trace split_trace(std::string_view log);

/// A call that was to be traced, and has ended.
struct TracedCall {
  std::string function;
  unsigned member = 0;  // where it began
  std::string outcome;  // "ok", or what went wrong
  std::string message;  // why it was not ok
  std::chrono::nanoseconds took{0};
  Trace trace;
};
/// The body of POST /v1/leases/ID/calls.
[[nodiscard]] std::string calls_document(const std::vector<TracedCall>& calls);

}  // namespace orchid::sdk
