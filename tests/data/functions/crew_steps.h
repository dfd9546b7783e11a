/* What walks and trees of a crew that halt at their steps have in common. */
#pragma once
#include <string.h>

#include "orchid/function.h"

static int32_t give(orchid_call* call, uint64_t sum) {
  void* output = orchid_output(call, sizeof(sum));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, &sum, sizeof(sum));
  return ORCHID_OK;
}

/* With what the children of the call have answered. */
static int32_t give_with_children(orchid_call* call, uint64_t sum) {
  for (uint32_t i = 0; i < orchid_child_count(call); ++i) {
    const void* output = NULL;
    size_t size = 0;
    uint64_t part = 0;
    if (orchid_child(call, i, &output, &size) != ORCHID_OK || size != sizeof(part))
      return ORCHID_ERROR;
    memcpy(&part, output, size);
    sum += part;
  }
  return give(call, sum);
}
