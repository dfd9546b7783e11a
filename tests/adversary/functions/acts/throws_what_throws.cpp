// Throws an exception whose end throws another one.
#include <stdexcept>

#include "../act.h"

struct Bomb {
  ~Bomb() noexcept(false) { throw std::runtime_error("another one"); }
};

ACT(throws_what_throws) { throw Bomb(); }
