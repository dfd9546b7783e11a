// http/query.h: the part of a target behind '?', read strictly: a route declares the parameters
// that it takes, and whoever writes another one, or the same one twice, has made a mistake. Pure
// functions.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "foundation/result.h"

namespace orchid::gateway {

/// Whether each parameter of `query` is in `declared`, comes once, and has a value that can be
/// decoded. Errors: `bad_request`, which names the parameter.
[[nodiscard]] Result<void> check_query(std::string_view query,
                                       std::span<const std::string> declared);

/// The decoded value of a parameter; empty when it is not there: a query that was checked has no
/// empty values.
[[nodiscard]] std::string query_parameter(std::string_view query, std::string_view name);

}  // namespace orchid::gateway
