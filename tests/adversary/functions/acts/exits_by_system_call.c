/* Ends its process past the C library, with the status of success. */
#include "../act.h"

ACT(exits_by_system_call) {
  raw_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
  return ORCHID_OK;
}
