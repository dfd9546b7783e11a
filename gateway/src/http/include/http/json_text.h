// http/json_text.h: how our JSON documents are written.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orchid::gateway {

/// One line, with its end. Parts of a document may be anything, such as a function's message: what
/// is not UTF-8 in them is replaced.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);

}  // namespace orchid::gateway
