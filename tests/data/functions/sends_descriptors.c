/* Expected: function_crashed: it sends descriptors over the worker's own socket, with a message
 * that workers do send. */
#define _GNU_SOURCE
#include <string.h>

#include "orchid/function.h"
#include "raw_send.h"

ORCHID_ENTRY(sends_descriptors) {
  (void)call, (void)input, (void)input_size;
  static char text[] = "{\"type\":\"worker_ready\"}";
  struct iovec part = {text, sizeof text - 1};
  char control[CMSG_SPACE(2 * sizeof(int))] = {0};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int descriptors[2] = {0, 1};
  memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
  send_packet(&message);
  for (;;) __asm__ volatile("");
}
