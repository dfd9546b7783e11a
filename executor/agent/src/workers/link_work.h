// workers/link_work.h: what a worker has to do while it runs no call: it links code that it was
// given, maps data, and sends large answers.
#pragma once
#include <cstdint>

namespace orchid::executor {

struct LinkWork {
  bool waits = false;      // some may be left
  std::uint64_t done = 0;  // code that is linked, or was refused
  friend bool operator==(const LinkWork&, const LinkWork&) = default;
};

}  // namespace orchid::executor
