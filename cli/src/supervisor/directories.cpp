#include "supervisor/directories.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace orchid::cli {
namespace {

std::optional<std::filesystem::path> absolute_path_in(const UserSurroundings& surroundings,
                                                      const std::string& name) {
  const auto value = surroundings.variable(name);
  if (!value || !value->starts_with('/')) return std::nullopt;
  return std::filesystem::path(*value);
}

std::filesystem::path shared_place(uid_t uid) { return "/tmp/orchid-" + std::to_string(uid); }

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "";
}

}  // namespace

UserSurroundings real_user_surroundings() {
  return {.variable = [](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          .is_own_directory =
              [](const std::filesystem::path& path) {
                struct stat status{};
                return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                       status.st_uid == ::geteuid();
              },
          .home = home_directory(),
          .uid = ::geteuid()};
}

std::filesystem::path runtime_directory(const UserSurroundings& surroundings) {
  if (const auto runtime = absolute_path_in(surroundings, "XDG_RUNTIME_DIR");
      runtime && surroundings.is_own_directory(*runtime))
    return *runtime / "orchid";
  return shared_place(surroundings.uid);
}

std::vector<std::filesystem::path> runtime_places(const UserSurroundings& surroundings) {
  std::vector<std::filesystem::path> places;
  if (const auto runtime = absolute_path_in(surroundings, "XDG_RUNTIME_DIR"))
    places.push_back(*runtime / "orchid");
  places.push_back(shared_place(surroundings.uid));
  return places;
}

std::vector<std::filesystem::path> gateway_file_places(const UserSurroundings& surroundings) {
  auto places = runtime_places(surroundings);
  if (auto state = state_directory(surroundings)) places.push_back(*state / "gateway");
  return places;
}

Result<std::filesystem::path> state_directory(const UserSurroundings& surroundings) {
  if (const auto state = absolute_path_in(surroundings, "XDG_STATE_HOME")) return *state / "orchid";
  if (surroundings.home.empty())
    return fail(ErrorCode::bad_configuration,
                "there is no home directory to keep state in; choose one with --state DIR");
  return std::filesystem::path(surroundings.home) / ".local" / "state" / "orchid";
}

}  // namespace orchid::cli
