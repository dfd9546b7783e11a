// http/problem.h: the Error that an unsuccessful answer of the gateway stands for.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "foundation/error_code.h"
#include "http/http_exchange.h"
#include "orchid/error.h"
#include "orchid/invocation.h"
#include "protocol/outcome.h"

namespace orchid::sdk {

/// The kind with this name on the wire: an outcome, an error code, or the last part of a problem's
/// type.
[[nodiscard]] std::optional<ErrorKind> parse_error_kind(std::string_view name);

/// The kinds of the same name. Of `ok`, which is no error: `internal`.
[[nodiscard]] ErrorKind kind_of(Outcome outcome);
[[nodiscard]] ErrorKind kind_of(ErrorCode code);
[[nodiscard]] bool is_outcome(ErrorKind kind);

/// Whether the same call may be sent again, and has a chance.
[[nodiscard]] bool is_retryable(ErrorKind kind);
/// What helps with errors of this kind in general; never empty.
[[nodiscard]] std::string hint_for(ErrorKind kind);

/// Of any answer with a status of 400 and above: a problem document (RFC 9457), or something else
/// that a proxy wrote.
[[nodiscard]] Error error_from_response(const HttpResponse& response);

/// Of a finished invocation whose outcome is not ok.
[[nodiscard]] Error error_from_status(const InvocationStatus& status);

}  // namespace orchid::sdk
