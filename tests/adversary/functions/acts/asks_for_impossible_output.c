/* Asks for room that cannot be, by sizes that overflow. */
#include "../act.h"

ACT(asks_for_impossible_output) {
  int refused = orchid_output(call, SIZE_MAX) == NULL;
  refused += orchid_output(call, (size_t)1 << 40) == NULL;
  refused += orchid_output(call, 100) != NULL;
  refused += orchid_append(call, SIZE_MAX - 50) == NULL;
  refused += orchid_append(call, SIZE_MAX) == NULL;
  return refused == 5 ? say(call, "refused") : ORCHID_ERROR;
}
