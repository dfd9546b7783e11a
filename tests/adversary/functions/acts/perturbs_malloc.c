/* Leaves malloc with settings that no other function expects. */
#include <malloc.h>
#include <stdlib.h>

#include "../act.h"

ACT(perturbs_malloc) {
  mallopt(M_PERTURB, 0x5a);
  mallopt(M_MMAP_THRESHOLD, 64);
  mallopt(M_ARENA_MAX, 1);
  return say(call, "done");
}
