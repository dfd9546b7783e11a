#include "supervisor/folder_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace orchid::cli {
namespace {

constexpr unsigned writable_by_others = 022;
constexpr unsigned sticky = 01000;

}  // namespace

DirectoryFacts facts_of_directory(const std::filesystem::path& path) {
  DirectoryFacts facts;
  struct stat status{};
  const bool is_there = ::lstat(path.c_str(), &status) == 0;
  facts.is_other = is_there && !S_ISDIR(status.st_mode);
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return facts;
  facts.exists = true;
  facts.owner = status.st_uid;
  facts.mode = status.st_mode & 07777;
  facts.unwritable = ::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0;
  struct statvfs space{};
  if (::statvfs(path.c_str(), &space) == 0) facts.free = ByteCount{space.f_bavail * space.f_frsize};
  return facts;
}

std::filesystem::path existing_part(const LookAtDirectory& look, std::filesystem::path path) {
  while (path.has_relative_path() && !look(path).exists) path = path.parent_path();
  return path;
}

std::optional<std::string> state_folder_fault(const LookAtDirectory& look,
                                              const std::filesystem::path& folder, uid_t uid) {
  const std::string name = folder.string();
  const DirectoryFacts facts = look(folder);
  if (facts.is_other) return name + " is a file or a link, and no folder";
  if (facts.exists && facts.owner != uid) return name + " belongs to another user";
  if (facts.exists && (facts.mode & writable_by_others) != 0)
    return name + " can be written by others";
  if (facts.exists && facts.unwritable) return name + " cannot be written";
  if (facts.exists) return std::nullopt;
  const auto above = existing_part(look, folder);
  if (look(above).unwritable)
    return name + " cannot be made: " + above.string() + " cannot be written";
  return std::nullopt;
}

std::optional<std::string> runtime_folder_fault(const LookAtDirectory& look,
                                                const std::filesystem::path& folder, uid_t uid) {
  if (auto fault = state_folder_fault(look, folder, uid)) return fault;
  const DirectoryFacts above = look(folder.parent_path());
  const bool can_be_exchanged = above.exists && (above.mode & writable_by_others) != 0 &&
                                (above.mode & sticky) == 0;  // as /tmp forbids it
  if (can_be_exchanged)
    return folder.parent_path().string() + " can be written by others, who could exchange " +
           folder.filename().string() + " in it";
  return std::nullopt;
}

}  // namespace orchid::cli
