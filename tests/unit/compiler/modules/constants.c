// Constant tables, and a variable that only code without a caller touches: nothing that lasts.
#include <orchid/function.h>

static int unused;
static int count(void) { return ++unused; }
static int (*const never)(void) = count;
static const char* const names[] = {"one", "two", "three"};

ORCHID_ENTRY(constants) {
  (void)never;
  char* out = orchid_output(call, 1);
  if (out == NULL) return ORCHID_ERROR;
  *out = names[input_size % 3][0];
  return ORCHID_OK;
}
