// Entries of bytes in the same module, from another file and language.
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(reversed) {
  unsigned char* output = orchid_output(call, input_size);
  if (output == NULL) return ORCHID_ERROR;
  for (size_t i = 0; i < input_size; ++i)
    output[i] = ((const unsigned char*)input)[input_size - 1 - i];
  return ORCHID_OK;
}

ORCHID_ENTRY(fails) {
  static const char message[] = "always";
  orchid_error(call, message, strlen(message));
  return ORCHID_ERROR;
}
