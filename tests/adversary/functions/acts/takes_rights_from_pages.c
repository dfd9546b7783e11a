/* Takes the right to read anything from itself, by the key that all pages have. */
#include "../act.h"

ACT(takes_rights_from_pages) {
#if defined(__x86_64__)
  __asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(0x55555555), "c"(0), "d"(0) : "memory");
#endif
  *(volatile int*)8 = 1;
  return ORCHID_OK;
}
