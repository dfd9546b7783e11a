/* Has static data of more than any worker has. */
#include "../act.h"

static char huge[(size_t)96 << 30];

ACT(wants_huge_data) {
  ((volatile char*)huge)[input_size * 4096] = 1;
  return say(call, ((volatile char*)huge)[0] == 0 ? "loaded" : "odd");
}
