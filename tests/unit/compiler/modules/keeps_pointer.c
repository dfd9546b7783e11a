// A pointer to a function of the module that lasts from one call to the next.
#include <orchid/function.h>

static int one(void) { return 1; }
static int two(void) { return 2; }
static int (*volatile kept)(void) = one;

ORCHID_ENTRY(keeps_pointer) {
  (void)call, (void)input;
  if (input_size != 0) kept = two;
  return kept == one ? kept() : -kept();
}
