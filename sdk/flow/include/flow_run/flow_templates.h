// flow_run/flow_templates.h: flows with their functions left open, as files that people start from.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"

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

/// Errors: `not_found`, with the names that there are.
[[nodiscard]] Result<FlowTemplate> find_template(const std::vector<std::filesystem::path>& folders,
                                                 const std::string& name);

}  // namespace orchid::flow
