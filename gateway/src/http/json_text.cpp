#include "http/json_text.h"

#include <nlohmann/json.hpp>

namespace orchid::gateway {

std::string json_text(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace orchid::gateway
