/* Which code a function of it has is decided by a function of it, while it is loaded; that one
 * never ends. */
#include "../act.h"

typedef int chosen(void);
static int one(void) { return 1; }
static chosen* choose(void) {
  spin_for_ever();
  return one;
}
int undecided(void) __attribute__((ifunc("choose")));

ACT(resolves_for_ever) { return say(call, undecided() == 1 ? "loaded" : "odd"); }
