/* Expected: function_crashed (SIGSEGV): it writes into the code of the worker. */
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(patches_worker) {
  (void)call, (void)input, (void)input_size;
  void* volatile code = (void*)&orchid_output;
  memset(code, 0xcc, 16);
  return ORCHID_OK;
}
