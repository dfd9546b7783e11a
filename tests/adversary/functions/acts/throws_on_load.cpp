// Its static initialiser throws.
#include <stdexcept>

#include "../act.h"

static const int never = [] {
  throw std::runtime_error("no good start");
  return 1;
}();

ACT(throws_on_load) { return say(call, never == 1 ? "loaded" : "odd"); }
