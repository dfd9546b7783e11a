#include "slot_folders.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "foundation/units.h"

namespace orchid::site {
namespace {

using std::filesystem::path;

path use_file(const SlotFolders& folders, std::uint32_t slot) {
  return path(folders.state_of(slot).string() + ".use");
}

std::optional<SlotUse> read_use(const path& file) {
  const auto content = read_file(file, 4_KiB);
  if (!content) return std::nullopt;
  std::string_view text = as_text(*content);
  text = text.substr(0, text.find('\n'));
  if (text == "everybody") return SlotUse{.users = GrantUsers::everybody};
  const auto uid = parse_number<uid_t>(text);
  if (!uid) return std::nullopt;
  return SlotUse{.owner = *uid};
}

/// Others may look for a name in it that they know (`mode` 0711), or not.
Result<void> make_folder_of(const path& folder, uid_t uid, mode_t mode) {
  if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST)
    return fail_errno("mkdir " + folder.string());
  if (::chown(folder.c_str(), uid, uid) != 0 || ::chmod(folder.c_str(), mode) != 0)
    return fail_errno("giving " + folder.string() + " to its slot");
  return {};
}

Result<void> make_parent(const path& folder) {
  if (auto made = make_private_directory(folder); !made) return made;
  if (::chmod(folder.c_str(), 0711) != 0) return fail_errno("chmod " + folder.string());
  return {};
}

Result<void> remove_tree(const path& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (!error) return {};
  return fail(ErrorCode::system, "removing " + folder.string() + ": " + error.message());
}

}  // namespace

path SlotFolders::state_of(std::uint32_t slot) const {
  return state / "slots" / std::to_string(slot);
}
path SlotFolders::runtime_of(std::uint32_t slot) const {
  return runtime / "slots" / std::to_string(slot);
}

Result<void> make_parents(const SlotFolders& folders) {
  for (const path& parent : {folders.state, folders.runtime})
    for (const path& folder : {parent, parent / "slots"})
      if (auto made = make_parent(folder); !made) return made;
  return {};
}

std::vector<std::optional<SlotUse>> read_uses(const SlotFolders& folders, std::uint32_t count) {
  std::vector<std::optional<SlotUse>> uses;
  for (std::uint32_t slot = 0; slot < count; ++slot)
    uses.push_back(read_use(use_file(folders, slot)));
  return uses;
}

Result<void> prepare(const SlotFolders& folders, std::uint32_t slot, const SlotUse& use,
                     bool keep) {
  if (auto removed = remove_tree(folders.runtime_of(slot)); !removed) return removed;
  if (!keep) {
    if (auto removed = remove_tree(folders.state_of(slot)); !removed) return removed;
    const std::string text =
        use.users == GrantUsers::everybody ? "everybody\n" : fmt::format("{}\n", use.owner);
    if (auto written = write_file_atomically(use_file(folders, slot), as_bytes(text)); !written)
      return written;
  }
  const uid_t uid = folders.uid_of(slot);
  if (auto made = make_folder_of(folders.state_of(slot), uid, 0700); !made) return made;
  return make_folder_of(folders.runtime_of(slot), uid, 0711);
}

bool end_all_of(uid_t uid) {
  errno = 0;
  if (::getpriority(PRIO_USER, uid) == -1 && errno == ESRCH) return true;
  const pid_t helper = ::fork();
  if (helper < 0) return false;
  if (helper == 0) {
    // With the rights of that user alone: nobody else can be hit.
    if (::setresgid(uid, uid, uid) == 0 && ::setresuid(uid, uid, uid) == 0) ::kill(-1, SIGKILL);
    ::_exit(0);
  }
  while (::waitpid(helper, nullptr, 0) < 0 && errno == EINTR) {
  }
  return false;
}

}  // namespace orchid::site
