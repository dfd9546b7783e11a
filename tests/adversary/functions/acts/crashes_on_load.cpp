// Its static initialiser crashes.
#include "../act.h"

static const int never = [] {
  *reinterpret_cast<volatile int*>(8) = 1;
  return 1;
}();

ACT(crashes_on_load) { return say(call, never == 1 ? "loaded" : "odd"); }
