// memory_json.h: leases of memory in the messages of the control connection.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "foundation/json_document.h"
#include "protocol/memory_messages.h"

namespace orchid {

[[nodiscard]] nlohmann::json to_json(const MemoryLeaseMessage& message);
/// Nothing: that type is no message about leases of memory.
[[nodiscard]] std::optional<MemoryLeaseMessage> parse_memory_lease_message(const JsonObject& f,
                                                                           std::string_view type);
[[nodiscard]] nlohmann::json to_json(const std::vector<MemoryHeld>& held);
[[nodiscard]] std::vector<MemoryHeld> parse_memory_held(const std::vector<JsonObject>& list);

}  // namespace orchid
