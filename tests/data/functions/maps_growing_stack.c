/* Expected: ok, output "refused": neither a mapping that grows down, which no limit counts, nor
 * more address space than any function needs. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "orchid/function.h"

ORCHID_ENTRY(maps_growing_stack) {
  (void)input, (void)input_size;
  const size_t gigabyte = (size_t)1 << 30;
  void* growing = mmap(NULL, 8 * gigabyte, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_NORESERVE, -1, 0);
  void* huge =
      mmap(NULL, 1024 * gigabyte, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const char* text = growing == MAP_FAILED && huge == MAP_FAILED ? "refused" : "mapped";
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}
