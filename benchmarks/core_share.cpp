#include "core_share.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <system_error>
#include <utility>

#include "foundation/unique_fd.h"

namespace orchid::bench {
namespace {

namespace fs = std::filesystem;

constexpr int slice_us = 4000;  // of which a quarter is the least that the kernel takes

Result<void> write_into(const fs::path& file, const std::string& text) {
  const UniqueFd to(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!to || ::write(to.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno("write " + file.string());
  return {};
}

Result<void> bound(const fs::path& group, bool is_first_version, int percent) {
  const std::string quota = std::to_string(slice_us * percent / 100);
  if (!is_first_version)
    return write_into(group / "cpu.max", quota + " " + std::to_string(slice_us));
  if (auto period = write_into(group / "cpu.cfs_period_us", std::to_string(slice_us)); !period)
    return period;
  return write_into(group / "cpu.cfs_quota_us", quota);
}

}  // namespace

Result<CoreShare> CoreShare::make(int percent) {
  std::error_code error;
  const fs::path root = "/sys/fs/cgroup";
  const bool is_first_version = fs::exists(root / "cpu" / "cgroup.procs", error);
  CoreShare share((is_first_version ? root / "cpu" : root) /
                  ("orchid-bench-" + std::to_string(::getpid())));
  if (!fs::create_directory(share.folder_, error))
    return fail(ErrorCode::system, "no group " + share.folder_.string() + ": " + error.message());
  if (auto bounded = bound(share.folder_, is_first_version, percent); !bounded)
    return fail(std::move(bounded.error()));
  return share;
}

CoreShare::~CoreShare() {
  if (!folder_.empty()) (void)::rmdir(folder_.c_str());
}

Result<void> CoreShare::add(pid_t process) const {
  return write_into(folder_ / "cgroup.procs", std::to_string(process));
}

}  // namespace orchid::bench
