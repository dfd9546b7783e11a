#include "processes/program_path.h"

#include <unistd.h>

#include <cstdlib>

namespace orchid::processes {

Result<std::filesystem::path> own_program_directory() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return fail(ErrorCode::system,
                "cannot read /proc/self/exe: " + error.message() + "; is /proc mounted?");
  return self.parent_path();
}

std::optional<std::filesystem::path> find_program(std::string_view name,
                                                  const std::filesystem::path& first) {
  if (!first.empty() && ::access((first / name).c_str(), X_OK) == 0) return first / name;
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!rest.empty()) {
    const auto end = rest.find(':');
    const std::filesystem::path folder = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (folder.is_absolute() && ::access((folder / name).c_str(), X_OK) == 0) return folder / name;
  }
  return std::nullopt;
}

std::filesystem::path path_of_program(const std::string& word) {
  if (word.contains('/')) return word;
  return find_program(word).value_or(word);
}

std::filesystem::path folder_of_program(std::string_view name) {
  const auto program = find_program(name);
  return program ? program->parent_path() : std::filesystem::path();
}

}  // namespace orchid::processes
