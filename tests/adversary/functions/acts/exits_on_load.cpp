// Its static initialiser ends the process, and says that this is fine.
#include <cstdlib>

#include "../act.h"

static const int never = [] {
  std::_Exit(0);
  return 1;
}();

ACT(exits_on_load) { return say(call, never == 1 ? "loaded" : "odd"); }
