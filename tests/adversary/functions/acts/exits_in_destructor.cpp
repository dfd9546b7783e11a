// Throws, and calls exit while the exception is on its way.
#include <cstdlib>
#include <stdexcept>

#include "../act.h"

namespace {
struct Exits {
  ~Exits() { std::exit(3); }
};
}  // namespace

ACT(exits_in_destructor) {
  const Exits guard;
  throw std::runtime_error("never seen");
}
