// src/refusal.h: what the door itself answers, in the form in which the gateway would.
#pragma once
#include <string>

#include "foundation/error_code.h"

namespace orchid::door {

struct Refusal {
  int status = 502;
  ErrorCode code = ErrorCode::unreachable;
  std::string detail;      // what happened and what to do
  bool retryable = false;  // the gateway has provably not done what was asked
};

/// RFC 9457, as the gateway's.
[[nodiscard]] std::string problem_document(const Refusal& refusal);
/// A whole HTTP/1.1 response with that document. The field `Orchid-Door` says who wrote it.
[[nodiscard]] std::string http_response(const Refusal& refusal);

}  // namespace orchid::door
