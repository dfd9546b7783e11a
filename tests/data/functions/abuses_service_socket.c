/* Expected: function_crashed: it sends to the worker's service socket (descriptor 10) what no
 * worker sends. The input says what: "rubbish"; "empty", an empty packet; "descriptor", a request
 * that is one, with a descriptor beside it; "twice", two requests at a time, until that is seen. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "orchid/function.h"
#include "raw_call.h"

enum { service_socket = 10, request_bytes = 128 };

/* A request for the object with the id of zeros. */
static void write_request(unsigned char* packet, uint32_t sequence) {
  memset(packet, 0, request_bytes);
  packet[0] = 1; /* version */
  packet[4] = 1; /* open_data */
  memcpy(packet + 8, &sequence, sizeof sequence);
}

static void send_bytes(const void* bytes, size_t size, int descriptor) {
  struct iovec part = {(void*)bytes, size};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control;
  struct msghdr message;
  memset(&message, 0, sizeof message);
  memset(&control, 0, sizeof control);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    control.aligned.cmsg_level = SOL_SOCKET;
    control.aligned.cmsg_type = SCM_RIGHTS;
    control.aligned.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.aligned), &descriptor, sizeof descriptor);
  }
  const long arguments[6] = {service_socket, (long)&message};
  raw_call(SYS_sendmsg, arguments);
}

/* All that are there: a worker with no room for its answer is ended too, but not blamed. */
static void take_answers(void) {
  char answer[4096];
  struct iovec part = {answer, sizeof answer};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const long arguments[6] = {service_socket, (long)&message, MSG_DONTWAIT};
  while (raw_call(SYS_recvmsg, arguments) > 0) {
  }
}

ORCHID_ENTRY(abuses_service_socket) {
  unsigned char packet[request_bytes];
  write_request(packet, 77);
  switch (input_size == 0 ? 0 : *(const char*)input) {
    case 'e':
      send_bytes("", 0, -1);
      break;
    case 'd':
      send_bytes(packet, sizeof packet, 0);
      break;
    case 't': /* again and again: the first may be answered before the second is there */
      for (uint32_t sequence = 77;; ++sequence) {
        write_request(packet, sequence);
        send_bytes(packet, sizeof packet, -1);
        if (sequence % 2 == 0) take_answers();
      }
    default:
      for (;;) send_bytes("let me in", 9, -1);
  }
  while (!orchid_should_stop(call)) {
  }
  return ORCHID_OK;
}
