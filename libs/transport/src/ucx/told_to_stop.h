// ucx/told_to_stop.h: how whoever waits in UCX hears that it shall end.
#pragma once
#include <poll.h>

namespace orchid::transport {

/// Whether that descriptor is readable; -1: never.
[[nodiscard]] inline bool is_told_to_stop(int stop) {
  pollfd entry{.fd = stop, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace orchid::transport
