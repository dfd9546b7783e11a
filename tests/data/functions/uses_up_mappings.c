/* Expected: ok, output is "used up"; it leaves the process so many mappings of memory that the
 * kernel gives it no further one. That costs the worker, and no later load. */
#include <string.h>
#include <sys/mman.h>

#include "orchid/function.h"

ORCHID_ENTRY(uses_up_mappings) {
  (void)input, (void)input_size;
  const size_t page = 4096;
  const size_t pages = 1 << 18;
  char* memory = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ORCHID_ERROR;
  size_t at = 0;
  while (at < pages && mprotect(memory + at * page, page, PROT_READ) == 0) at += 2;
  const char* text = at < pages ? "used up" : "some left";
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}
