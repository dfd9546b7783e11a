/* send_on_socket.h: a packet on the worker's own socket, with a descriptor or without. */
#pragma once
#include <sys/socket.h>
#include <sys/uio.h>

#include "../act.h"

static inline long send_on_socket(const char* text, size_t size, int descriptor) {
  struct iovec part = {(void*)text, size};
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message;
  memset(&message, 0, sizeof message);
  memset(&control, 0, sizeof control);
  message.msg_iov = &part;
  message.msg_iovlen = size == 0 ? 0 : 1;
  if (descriptor >= 0) {
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
  }
  return raw_call(SYS_sendmsg, control_socket, (long)&message, 0, 0, 0, 0);
}
