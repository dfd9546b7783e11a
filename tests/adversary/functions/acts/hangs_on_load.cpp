// Its static initialiser never ends.
#include "../act.h"

static const int never = [] {
  spin_for_ever();
  return 1;
}();

ACT(hangs_on_load) { return say(call, never == 1 ? "loaded" : "odd"); }
