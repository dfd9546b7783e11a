/* Twenty times: a room, of which it keeps a "descriptor" or a "mapping" (the input) when it has it
 * sealed, and then discarded. All of it over the worker's service socket (descriptor 10), as a
 * worker does it. The output says how often sealing was refused, and how many bytes it still has.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "orchid/function.h"
#include "raw_call.h"

enum { service_socket = 10, rounds = 20, room_bytes = 64 << 20 };
enum { create_data = 2, seal_data = 3, discard_data = 5, done = 1, refused = 2 };

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

ORCHID_ENTRY(keeps_rooms) {
  const int by_mapping = input_size != 0 && *(const char*)input == 'm';
  unsigned was_refused = 0;
  int files[rounds];
  long mappings[rounds] = {0};
  for (int i = 0; i < rounds; ++i) {
    struct answer made;
    struct answer said;
    files[i] = ask((struct request){.ask = create_data, .bytes = room_bytes}, &made);
    if (made.verdict != done || files[i] < 0) return ORCHID_BAD_ARGUMENTS;
    const long shared[6] = {0, room_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[i], 0};
    void* room = (void*)raw_call(SYS_mmap, shared);
    memset(room, 1, room_bytes);
    const long whole[6] = {(long)room, room_bytes};
    raw_call(SYS_munmap, whole);
    if (by_mapping) {
      const long private[6] = {0, 4096, PROT_READ, MAP_PRIVATE, files[i], 0};
      mappings[i] = raw_call(SYS_mmap, private);
    }
    struct request seal = {.ask = seal_data, .bytes = room_bytes};
    memcpy(seal.data, made.data, sizeof seal.data);
    ask(seal, &said);
    if (said.verdict == refused) ++was_refused;
    ask((struct request){.ask = discard_data}, &said);
    if (said.verdict != done) return ORCHID_BAD_ARGUMENTS;
  }
  unsigned long kept = 0;
  for (int i = 0; i < rounds; ++i) {
    struct stat status;
    const long look[6] = {files[i], (long)&status};
    if (raw_call(SYS_fstat, look) == 0) kept += (unsigned long)status.st_size;
    const long file[6] = {files[i]};
    raw_call(SYS_close, file);
    const long page[6] = {mappings[i], 4096};
    if (mappings[i] > 0) raw_call(SYS_munmap, page);
  }
  char text[64];
  const int size = snprintf(text, sizeof text, "%u refused, %lu bytes kept", was_refused, kept);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
