// system/openapi_text.h: docs/openapi.yaml, as part of the program.
#pragma once
#include <string_view>

namespace orchid::gateway {

extern const std::string_view openapi_text;

}  // namespace orchid::gateway
