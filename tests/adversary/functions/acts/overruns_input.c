/* Writes past its input, over calls that wait. */
#include "../act.h"

ACT(overruns_input) {
  volatile char* bytes = (volatile char*)input;
  for (int i = 0; i < lane_ring_entries / 2 * lane_entry_bytes; ++i) bytes[i] = 'H';
  return say(call, "done");
}
