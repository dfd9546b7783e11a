// data_json.h: data objects in the messages of the control connection.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "foundation/json_document.h"
#include "protocol/data_id.h"
#include "protocol/data_messages.h"

namespace orchid {

[[nodiscard]] nlohmann::json to_json(const LeaseTenant& tenant);
[[nodiscard]] LeaseTenant parse_tenant(const JsonObject& f);

/// Of a field "data".
[[nodiscard]] DataId parse_data(const JsonObject& f);

[[nodiscard]] nlohmann::json to_json(const DataMessage& message);
/// Nothing: that type is no message about data.
[[nodiscard]] std::optional<DataMessage> parse_data_message(const JsonObject& f,
                                                            std::string_view type);

[[nodiscard]] nlohmann::json to_json(const DataMemory& memory);
[[nodiscard]] DataMemory parse_data_memory(const JsonObject& f);
[[nodiscard]] nlohmann::json to_json(const std::vector<DataHeld>& held);
[[nodiscard]] std::vector<DataHeld> parse_data_held(const std::vector<JsonObject>& list);

}  // namespace orchid
