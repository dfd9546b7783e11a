/* Expected: ok; it leaves a page of memory at a place of choice, which `loads_unless_marked` looks
 * for. */
#include <sys/mman.h>

#include "orchid/function.h"

ORCHID_ENTRY(leaves_mark) {
  (void)call, (void)input, (void)input_size;
  void* place = (void*)0x100000000000UL;
  return mmap(place, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place
             ? ORCHID_OK
             : ORCHID_ERROR;
}
