// Raw bytes for from_c.c: the input in capital letters; an empty one is an error.
#include "orchid/function.h"

ORCHID_ENTRY(letters) {
  static const char message[] = "there are no letters";
  if (input_size == 0) {
    orchid_error(call, message, sizeof message - 1);
    return ORCHID_ERROR;
  }
  unsigned char* output = orchid_output(call, input_size);
  if (output == NULL) return ORCHID_ERROR;
  for (size_t i = 0; i < input_size; ++i)
    output[i] = (unsigned char)(((const unsigned char*)input)[i] & ~0x20);
  return ORCHID_OK;
}
