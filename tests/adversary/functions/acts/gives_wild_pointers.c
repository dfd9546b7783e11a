/* Gives the host's functions texts that are not there. */
#include "../act.h"

ACT(gives_wild_pointers) {
  orchid_log(call, (const char*)8, (size_t)1 << 20);
  return say(call, "odd");
}
