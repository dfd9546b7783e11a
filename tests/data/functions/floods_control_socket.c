/* Expected: function_crashed: it writes to the worker's own socket (descriptor 3), as fast as it
 * can. */
#define _GNU_SOURCE
#include <string.h>

#include "orchid/function.h"
#include "raw_send.h"

ORCHID_ENTRY(floods_control_socket) {
  (void)call, (void)input, (void)input_size;
  static char text[100000];
  memset(text, '[', sizeof text);
  struct iovec part = {text, sizeof text};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  for (;;) send_packet(&message);
}
