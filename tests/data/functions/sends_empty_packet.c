/* Expected: the worker is lost: an empty packet on its socket looks like its end. The next call
 * works. */
#define _GNU_SOURCE
#include <string.h>

#include "orchid/function.h"
#include "raw_send.h"

ORCHID_ENTRY(sends_empty_packet) {
  (void)call, (void)input, (void)input_size;
  struct msghdr message;
  memset(&message, 0, sizeof message);
  send_packet(&message);
  for (;;) __asm__ volatile("");
}
