/* Expected: each chunk's first byte is an order: 'e' the chunk comes back; 'n' nothing does; 'r' it
 * returns "done" at once; 'f' it fails with a message; 'c' it crashes; 'x' it calls exit(3); 'l' it
 * loops for ever; 'p' it prints "printed\n"; 'o' it writes a chunk of one byte more than 32 MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchid/function.h"

static int32_t write_text(orchid_call* call, const char* text, size_t size) {
  void* output = orchid_append(call, size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, size);
  return ORCHID_OK;
}

static int32_t obey(orchid_call* call, const char* chunk, size_t size, int* returns) {
  switch (size == 0 ? 'n' : chunk[0]) {
    case 'e':
      return write_text(call, chunk, size);
    case 'r':
      *returns = 1;
      return write_text(call, "done", 4);
    case 'f':
      orchid_error(call, "as ordered", 10);
      return ORCHID_ERROR;
    case 'c':
      *(volatile int*)16 = 1;
      return ORCHID_OK;
    case 'x':
      exit(3);
    case 'l':
      for (volatile int forever = 1; forever != 0;) {
      }
      return ORCHID_OK;
    case 'p':
      printf("printed\n");
      return ORCHID_OK;
    case 'o':
      return orchid_append(call, ((size_t)32 << 20) + 1) == NULL ? ORCHID_ERROR : ORCHID_OK;
    default:
      return ORCHID_OK;
  }
}

ORCHID_ENTRY(streams_by_order) {
  const void* chunk = input;
  size_t size = input_size;
  int returns = 0;
  do {
    const int32_t status = obey(call, chunk, size, &returns);
    if (status != ORCHID_OK || returns != 0) return status;
  } while (orchid_exchange(call, &chunk, &size) == ORCHID_CHUNK);
  return write_text(call, "end", 3);
}
