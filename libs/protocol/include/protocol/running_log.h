// protocol/running_log.h: what a call that has not been answered has logged.
#pragma once
#include <cstdint>
#include <string>

namespace orchid {

struct RunningLog {
  std::string text;
  std::uint64_t dropped = 0;  // bytes over limits::log_size
};

}  // namespace orchid
