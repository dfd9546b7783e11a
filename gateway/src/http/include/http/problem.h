// http/problem.h: how failures and outcomes are told over HTTP: the status, and an RFC 9457 problem
// document. Pure functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "calls/call.h"
#include "foundation/result.h"
#include "http/response.h"

namespace orchid::gateway {

struct Problem {
  unsigned status = 500;
  std::string code;    // the type is urn:orchid:problem:<code>: an error code or an outcome
  std::string title;   // the same for all problems of the code
  std::string detail;  // what happened and what to do
  std::optional<unsigned> retry_after_s;
  std::optional<Outcome> outcome;  // the Orchid-Outcome header
  // Members beyond RFC 9457; empty or nothing: not known.
  std::string invocation;
  std::string function;
  std::string node;
  std::optional<unsigned> attempt;
  std::optional<bool> retryable;
};

/// A request that the gateway did not do.
[[nodiscard]] Problem problem_of(const Failure& failure);
/// The same, for a request that was to run a function: its answer names an outcome too.
[[nodiscard]] Problem problem_of_invocation(const Failure& failure);
/// A call that ended with another outcome than ok.
[[nodiscard]] Problem problem_of(const CallResult& result);
/// Whether who sees this outcome may simply send the call again.
[[nodiscard]] bool may_be_repeated(Outcome outcome);

[[nodiscard]] std::string to_json(const Problem& problem);
[[nodiscard]] Response to_response(const Problem& problem);

}  // namespace orchid::gateway
