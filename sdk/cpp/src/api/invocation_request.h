// api/invocation_request.h: a call as a request to the gateway.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "http/http_exchange.h"
#include "orchid/client.h"

namespace orchid::sdk {

[[nodiscard]] std::string function_path(std::string_view name);
/// Where a call runs: constraints, and the objects that it is given.
void add_place(HttpRequest& request, const InvokeOptions& options);
/// Its body is `input`. What the options say of how to wait for the answer is not in it.
[[nodiscard]] HttpRequest invocation_request(std::string_view function,
                                             std::span<const std::byte> input,
                                             const InvokeOptions& options);

}  // namespace orchid::sdk
