#include "flow_run/flow_templates.h"

#include <fstream>
#include <map>
#include <system_error>
#include <utility>

namespace orchid::flow {
namespace {

std::string summary_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  if (!line.starts_with("# ")) return {};
  const std::size_t end = line.find('.');
  return line.substr(2, end == std::string::npos ? end : end - 2);
}

}  // namespace

std::vector<std::filesystem::path> own_template_folders() {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto installed = program.parent_path().parent_path() / "share/orchid/templates";
  if (std::filesystem::is_directory(installed, error)) folders.push_back(installed);
  folders.emplace_back(ORCHID_FLOW_TEMPLATES);
  return folders;
}

std::vector<FlowTemplate> find_templates(const std::vector<std::filesystem::path>& folders) {
  std::map<std::string, FlowTemplate> templates;
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() != ".yaml") continue;
      const std::string name = entry.path().stem().string();
      if (!templates.contains(name))
        templates[name] = {.name = name, .file = entry.path(), .summary = summary_of(entry.path())};
    }
  }
  std::vector<FlowTemplate> list;
  for (auto& [name, one] : templates) list.push_back(std::move(one));
  return list;
}

}  // namespace orchid::flow
