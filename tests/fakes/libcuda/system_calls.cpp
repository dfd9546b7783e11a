#include "system_calls.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

namespace fake_cuda {
namespace {

bool names_a_thread() {
  const std::string file = "/proc/self/task/" + std::to_string(::gettid()) + "/comm";
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  return opened >= 0 && ::write(opened, "cuda", 4) == 4 && ::close(opened) == 0;
}

/// It stays open. It has no name among the files, so there is nothing to remove.
bool listens() {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (socket < 0 || ::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
    return false;
  const std::string name = "cuda-fake-" + std::to_string(::getpid());
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::ranges::copy(name, static_cast<char*>(address.sun_path) + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0) return false;
  if (::unlink("") == 0 || errno != ENOENT) return false;
  return ::listen(socket, 128) == 0;
}

}  // namespace

bool can_initialise() { return ::sched_get_priority_max(SCHED_RR) > 0 && names_a_thread(); }
bool can_make_context() { return listens(); }

}  // namespace fake_cuda
