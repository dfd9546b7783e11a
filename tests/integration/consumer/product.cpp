// With sum.c one module of two entries and two languages: every byte of the input times VALUE.
#include "orchid/function.h"

ORCHID_ENTRY(product) {
  auto* output = static_cast<unsigned char*>(orchid_output(call, input_size));
  if (output == nullptr) return ORCHID_ERROR;
  for (size_t i = 0; i < input_size; ++i)
    output[i] = static_cast<unsigned char>(VALUE * static_cast<const unsigned char*>(input)[i]);
  return ORCHID_OK;
}
