/* Expected: rejected at deploy (module_rejected): fork is not among the symbols that a host
 * provides. */
#include <unistd.h>

#include "orchid/function.h"

ORCHID_ENTRY(forks_by_libc) {
  (void)call, (void)input, (void)input_size;
  return fork() < 0 ? ORCHID_ERROR : ORCHID_OK;
}
