// flow_run/call_failure.h: what the engine of a flow is told of a call that ended in an Error.
#pragma once
#include <string>
#include <utility>

#include "flow/engine.h"
#include "orchid/error.h"

namespace orchid::flow {

[[nodiscard]] inline CallFailed failure_of(CallId call, const Error& error) {
  std::string message = error.message();
  if (!error.node().empty()) message += " (on host " + error.node() + ")";
  return {
      .call = call,
      .outcome = error.outcome().empty() ? std::string(to_string(error.kind())) : error.outcome(),
      .message = std::move(message)};
}

}  // namespace orchid::flow
