/* The worker's service socket (descriptor 10), as a function uses it that goes past the library:
 * one request, and its answer (docs/PROTOCOL.md, "The service socket"). */
#pragma once
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "raw_call.h"

enum { service_socket = 10 };
enum { open_data = 1, create_data = 2, seal_data = 3, discard_data = 5, done = 1, refused = 2 };

struct request {
  uint32_t version;
  uint16_t ask, name_bytes;
  uint32_t sequence, zero;
  unsigned char data[16];
  uint64_t bytes;
  char name[88];
};
struct answer {
  uint32_t version;
  uint16_t verdict, code;
  uint32_t sequence;
  uint16_t message_bytes, zero;
  unsigned char data[16];
  uint64_t bytes;
  char message[472];
};

static uint32_t sequence = 1000000;

/* The descriptor that came with the answer; -1: none. */
static int ask(struct request request, struct answer* answer) {
  request.version = 1;
  request.sequence = ++sequence;
  struct iovec part = {&request, sizeof request};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  const long sent[6] = {service_socket, (long)&message};
  raw_call(SYS_sendmsg, sent);
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control;
  part = (struct iovec){answer, sizeof *answer};
  message = (struct msghdr){.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.room,
                            .msg_controllen = sizeof control.room};
  memset(answer, 0, sizeof *answer);
  raw_call(SYS_recvmsg, sent);
  int file = -1;
  if (message.msg_controllen >= CMSG_LEN(sizeof file))
    memcpy(&file, CMSG_DATA(&control.aligned), sizeof file);
  return file;
}
