// Expected: its first call ends as function_error, since loading the module does not end.
#include "orchid/function.h"

namespace {
struct Endless {
  Endless() {
    for (;;) asm volatile("");
  }
};
Endless endless;
}  // namespace

ORCHID_ENTRY(endless_initialiser) {
  (void)call, (void)input, (void)input_size;
  return ORCHID_OK;
}
