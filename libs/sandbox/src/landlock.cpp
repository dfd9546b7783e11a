#include "landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "foundation/unique_fd.h"

namespace orchid {
namespace {

// Debian 12's <linux/landlock.h> ends before ABI 4, so the kernel's stable numbers are stated here.
struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;  // ABI 4
  std::uint64_t scoped;              // ABI 6
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
constexpr std::uint64_t may_write_file = 1U << 1;
constexpr std::uint64_t may_read_file = 1U << 2;
constexpr std::uint64_t may_read_directory = 1U << 3;
constexpr std::uint64_t fs_abi_1 = (1ULL << 13) - 1;
constexpr std::uint64_t fs_refer = 1ULL << 13;     // ABI 2
constexpr std::uint64_t fs_truncate = 1ULL << 14;  // ABI 3
constexpr std::uint64_t fs_ioctl = 1ULL << 15;     // ABI 5
constexpr std::uint64_t net_bind = 1;              // ABI 4
constexpr std::uint64_t net_connect = 2;           // ABI 4
constexpr std::uint64_t scope_socket_signal = 3;   // ABI 6
constexpr unsigned version_flag = 1;
constexpr int rule_path_beneath = 1;

RulesetAttributes attributes_of(int abi, NetworkAccess network) {
  RulesetAttributes attributes{fs_abi_1, 0, 0};
  if (abi >= 2) attributes.handled_access_fs |= fs_refer;
  if (abi >= 3) attributes.handled_access_fs |= fs_truncate;
  if (abi >= 4 && network != NetworkAccess::tcp) attributes.handled_access_net = net_connect;
  if (abi >= 4 && network == NetworkAccess::none) attributes.handled_access_net |= net_bind;
  if (abi >= 5) attributes.handled_access_fs |= fs_ioctl;
  if (abi >= 6) attributes.scoped = scope_socket_signal;
  return attributes;
}

std::size_t size_of(int abi) {
  if (abi >= 6) return sizeof(RulesetAttributes);
  return abi >= 4 ? 16 : 8;
}

/// Lets `access` to each of the files and trees. The kernel refuses a right to a file that only a
/// folder can have.
Result<void> add_rules(int ruleset, const std::vector<std::filesystem::path>& paths,
                       std::uint64_t access) {
  for (const auto& path : paths) {
    const UniqueFd opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!opened) continue;  // what does not exist needs no permission
    struct stat status{};
    if (::fstat(opened.get(), &status) != 0) return fail_errno("fstat " + path.string());
    const std::uint64_t of_folders = S_ISDIR(status.st_mode) ? may_read_directory : 0;
    const PathBeneath rule{access | of_folders, opened.get()};
    if (::syscall(SYS_landlock_add_rule, ruleset, rule_path_beneath, &rule, 0) != 0)
      return fail_errno("landlock_add_rule " + path.string());
  }
  return {};
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, version_flag);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

Result<void> enter_landlock(const FileAccess& files, NetworkAccess network) {
  const int abi = landlock_abi();
  if (abi == 0) return fail(ErrorCode::unsupported, "this kernel has no Landlock");
  const RulesetAttributes attributes = attributes_of(abi, network);
  const UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size_of(abi), 0)));
  if (!ruleset) return fail_errno("landlock_create_ruleset");
  constexpr std::uint64_t read_and_write = may_read_file | may_write_file;
  const std::uint64_t to_devices = read_and_write | (attributes.handled_access_fs & fs_ioctl);
  // Whoever opens a file to write it anew asks to shorten it, too, also where there is no length.
  const std::uint64_t to_files = read_and_write | (attributes.handled_access_fs & fs_truncate);
  if (auto added = add_rules(ruleset.get(), files.readable, may_read_file); !added) return added;
  if (auto added = add_rules(ruleset.get(), files.writable, to_files); !added) return added;
  if (auto added = add_rules(ruleset.get(), files.devices, to_devices); !added) return added;
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return fail_errno("landlock_restrict_self");
  return {};
}

}  // namespace orchid
