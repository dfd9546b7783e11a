// flow_run/flow_templates.h: flows with their functions left open, as files that people start from.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace orchid::flow {

struct FlowTemplate {
  std::string name;
  std::filesystem::path file;
  std::string summary;  // the comment on its first line
};

/// Where Orchid's own are: beside its installed programs, else where its sources are.
[[nodiscard]] std::vector<std::filesystem::path> own_template_folders();

/// Those of each folder, sorted by name; of two with one name the earlier folder's. A folder that
/// is not there has none.
[[nodiscard]] std::vector<FlowTemplate> find_templates(
    const std::vector<std::filesystem::path>& folders);

}  // namespace orchid::flow
