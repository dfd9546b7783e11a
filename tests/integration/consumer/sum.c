// With product.cpp one module of two entries and two languages: VALUE added to every byte.
#include "orchid/function.h"

ORCHID_ENTRY(sum) {
  unsigned char* output = orchid_output(call, input_size);
  if (output == NULL) return ORCHID_ERROR;
  for (size_t i = 0; i < input_size; ++i)
    output[i] = (unsigned char)(VALUE + ((const unsigned char*)input)[i]);
  return ORCHID_OK;
}
