#include "supervisor/up_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace orchid::cli {

Result<std::optional<UniqueFd>> try_lock_runtime(const std::filesystem::path& runtime) {
  const std::string path = runtime / "up.lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno("open " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return std::optional<UniqueFd>(std::move(fd));
  if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
  return fail_errno("lock " + path);
}

}  // namespace orchid::cli
