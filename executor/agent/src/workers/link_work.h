// workers/link_work.h: code that a worker was given to link.
#pragma once
#include <cstdint>

namespace orchid::executor {

struct LinkWork {
  bool waits = false;      // some is not answered yet
  std::uint64_t done = 0;  // answers so far
  friend bool operator==(const LinkWork&, const LinkWork&) = default;
};

}  // namespace orchid::executor
