/* Changes the size of its output a hundred thousand times, and exchanges chunks with nobody. */
#include "../act.h"

ACT(changes_output_size) {
  for (size_t i = 0; i < 100000; ++i) {
    if (orchid_output(call, i * 7919 % 65536) == NULL) return ORCHID_ERROR;
    const void* chunk = NULL;
    size_t size = 0;
    if (i % 100 == 0) orchid_exchange(call, &chunk, &size);
  }
  return say(call, "done");
}
