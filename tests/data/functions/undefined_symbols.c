/* Expected: rejected at deploy (module_rejected); the message names both missing symbols. */
#include "orchid/function.h"

extern int first_missing_symbol(int value);
extern int second_missing_symbol(int value);

ORCHID_ENTRY(undefined_symbols) {
  (void)call, (void)input;
  return first_missing_symbol((int)input_size) + second_missing_symbol(1);
}
