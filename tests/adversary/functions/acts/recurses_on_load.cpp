// Its static initialiser needs more stack than there is.
#include "../act.h"

[[gnu::noinline]] static int descend(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : descend(depth + 1) + frame[0];
}
static const int never = descend(1);

ACT(recurses_on_load) { return say(call, never == 1 ? "loaded" : "odd"); }
