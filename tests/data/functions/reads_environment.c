/* Expected: ok, output is the value of the variable that the input names, in brackets; "none"
 * without one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(reads_environment) {
  char name[64] = "";
  if (input_size >= sizeof name) return ORCHID_BAD_ARGUMENTS;
  memcpy(name, input, input_size);
  const char* value = getenv(name);
  char text[256];
  const int size = snprintf(text, sizeof text, value == NULL ? "none" : "[%s]", value);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
