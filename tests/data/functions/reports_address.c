/* Expected: ok, output is the address of the input in decimal; one byte of each page
 * of the input is read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(reports_address) {
  const volatile unsigned char* bytes = input;
  for (size_t i = 0; i < input_size; i += 4096) (void)bytes[i];
  char text[24];
  const int size = snprintf(text, sizeof text, "%" PRIuPTR, (uintptr_t)input);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
