/* ask_depot.h: what a worker asks its tenant's depot, and how, as somebody finds out who reads its
 * source (protocol/service_messages.h). */
#pragma once
#include <sys/socket.h>
#include <sys/uio.h>

#include "../act.h"

enum { service_socket = 10 };
enum { depot_opens = 1, depot_creates = 2, depot_seals = 3, depot_discards = 5 };
enum { depot_does = 1, depot_refuses = 2 };

struct depot_request {
  uint32_t version;
  uint16_t ask, name_bytes;
  uint32_t sequence, zero;
  unsigned char data[16];
  uint64_t bytes;
  char name[88];
};
struct depot_answer {
  uint32_t version;
  uint16_t verdict, code;
  uint32_t sequence;
  uint16_t message_bytes, zero;
  unsigned char data[16];
  uint64_t bytes;
  char message[472];
};

static inline long send_to_depot(const void* packet, size_t size, int descriptor) {
  struct iovec part = {(void*)packet, size};
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message;
  memset(&message, 0, sizeof message);
  memset(&control, 0, sizeof control);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
  }
  return raw_call(SYS_sendmsg, service_socket, (long)&message, 0, 0, 0, 0);
}

/* Waits for the answer. The descriptor that came with it; -1: none. */
static inline int ask_depot(struct depot_request request, struct depot_answer* answer) {
  static uint32_t sequence = 1000000;
  request.version = 1;
  request.sequence = ++sequence;
  send_to_depot(&request, sizeof request, -1);
  struct iovec part = {answer, sizeof *answer};
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message;
  memset(&message, 0, sizeof message);
  memset(answer, 0, sizeof *answer);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  raw_call(SYS_recvmsg, service_socket, (long)&message, 0, 0, 0, 0);
  int file = -1;
  if (message.msg_controllen >= CMSG_LEN(sizeof file))
    memcpy(&file, CMSG_DATA(&control.head), sizeof file);
  return file;
}
