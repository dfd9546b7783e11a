/* Expected: ok, the output is as many bytes as the input says in decimal, byte i being i modulo
 * 251; grown in steps. */
#include <stdlib.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(output_big) {
  char number[24] = "";
  if (input_size >= sizeof number) return ORCHID_BAD_ARGUMENTS;
  memcpy(number, input, input_size);
  const size_t size = strtoul(number, NULL, 10);
  size_t done = 0;
  for (size_t room = size < 4096 ? size : 4096; done < size;
       room = room * 2 < size ? room * 2 : size) {
    unsigned char* output = orchid_output(call, room);
    if (output == NULL) return ORCHID_ERROR;
    for (; done < room; ++done) output[done] = (unsigned char)(done % 251);
  }
  return ORCHID_OK;
}
