/* Needs a symbol that nobody provides, in code that no entry reaches. */
#include <orchid/function.h>

void nobody_has_this(void);
void also_exported(void) { nobody_has_this(); }

ORCHID_ENTRY(unused_needs) {
  (void)call, (void)input;
  return input_size == 0 ? ORCHID_OK : ORCHID_ERROR;
}
