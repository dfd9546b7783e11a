#include "foundation/duplicate.h"

#include <fcntl.h>

#include <cerrno>
#include <string>

namespace orchid {

Result<UniqueFd> duplicate(int fd, int least) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, least));
  if (copy) return copy;
  const int why = errno;
  auto failed =
      system_failure(ErrorCode::system, "duplicate descriptor " + std::to_string(fd), why);
  errno = why;
  return fail(std::move(failed));
}

}  // namespace orchid
