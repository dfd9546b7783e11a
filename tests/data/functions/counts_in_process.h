/* For modules that are to be told apart from each other, and have the same to say. */
#pragma once
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "orchid/function.h"

static unsigned long calls;

/* Output: the worker's process id, and how many calls of this module it has run, in decimal. */
static int count_in_process(orchid_call* call) {
  char text[48];
  const int size = snprintf(text, sizeof text, "%d %lu", (int)getpid(), ++calls);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
