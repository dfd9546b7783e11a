#include "waiting.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace orchid::executor {

bool wait_readable(int fd, std::optional<std::chrono::milliseconds> limit) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + limit.value_or(std::chrono::milliseconds(0));
  while (true) {
    int timeout_ms = -1;
    if (limit) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      timeout_ms = static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
    }
    pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&watched, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;  // the read that follows tells what is wrong
  }
}

}  // namespace orchid::executor
