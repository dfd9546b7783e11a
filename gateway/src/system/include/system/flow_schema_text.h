// system/flow_schema_text.h: libs/flow/flow.schema.json, as part of the program.
#pragma once
#include <string_view>

namespace orchid::gateway {

extern const std::string_view flow_schema_text;

}  // namespace orchid::gateway
