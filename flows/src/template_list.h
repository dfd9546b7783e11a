// template_list.h: the templates that this process tells of, read once.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace orchid::flows {

/// JSON: name, summary and text of each, as flow::find_templates finds them. What cannot be read,
/// or is larger than 1 MiB, is logged and left out.
[[nodiscard]] std::string template_list(const std::vector<std::filesystem::path>& folders);

}  // namespace orchid::flows
