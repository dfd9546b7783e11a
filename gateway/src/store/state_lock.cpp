#include "store/state_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace orchid::gateway {

Result<UniqueFd> lock_state_directory(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "lock";
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return fail_errno("open " + path.string());
  // A lock of the open file, not of the process: closing another descriptor of it does not drop it,
  // and it works on NFS.
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fail_errno("lock " + path.string());
    std::array<char, 32> holder{};
    const ssize_t got = ::pread(file.get(), holder.data(), holder.size() - 1, 0);
    const std::string pid =
        got > 0 ? std::string(holder.data(), static_cast<std::size_t>(got)) : "unknown";
    return fail(ErrorCode::conflict, "another orchid-gateway (process " + pid +
                                         ") uses the state directory " + directory.string() +
                                         ": stop it, or name another directory with --state");
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), pid.data(), pid.size(), 0) < 0)
    return fail_errno("write " + path.string());
  return file;
}

}  // namespace orchid::gateway
