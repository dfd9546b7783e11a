/* Expected: function_crashed: it writes to the worker's own socket (descriptor 3), as fast as it
 * can. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "orchid/function.h"

/* Past the list of symbols, as any function may. */
static void send_packet(struct msghdr* message) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(46L), "D"(3L), "S"(message), "d"(0L)
                   : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long number __asm__("x8") = 211;
  register long result __asm__("x0") = 3;
  register long second __asm__("x1") = (long)message;
  register long third __asm__("x2") = 0;
  __asm__ volatile("svc 0" : "+r"(result) : "r"(number), "r"(second), "r"(third) : "memory");
#endif
}

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
