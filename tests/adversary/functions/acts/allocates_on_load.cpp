// Its static initialiser takes all memory that there is.
#include <cstdlib>

#include "../act.h"

static const int blocks = [] {
  int count = 0;
  while (std::malloc(8 << 20) != nullptr) ++count;
  return count;
}();

ACT(allocates_on_load) { return say(call, blocks > 0 ? "loaded" : "odd"); }
