#include "foundation/file_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <thread>

namespace orchid {
namespace {

constexpr std::chrono::milliseconds look_again{20};

}  // namespace

Result<UniqueFd> lock_file(const std::filesystem::path& path, std::chrono::milliseconds patience,
                           const std::string& busy) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return fail_errno("opening " + path.string());
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fail_errno("locking " + path.string());
    if (std::chrono::steady_clock::now() >= give_up) return fail(ErrorCode::timed_out, busy);
    std::this_thread::sleep_for(look_again);
  }
  return file;
}

}  // namespace orchid
