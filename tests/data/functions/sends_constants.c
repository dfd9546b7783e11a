/* Hands over text as constants of a module, past the library, over the worker's service socket
 * (descriptor 10). Input: u64, how many bytes it has, and u64, how often. The output says of the
 * last answer why it was a refusal. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "orchid/function.h"
#include "service_socket.h"

enum { create_module = 7, make_module = 8 };

ORCHID_ENTRY(sends_constants) {
  uint64_t wish[2];
  if (input_size != sizeof wish) return ORCHID_BAD_ARGUMENTS;
  memcpy(wish, input, sizeof wish);
  struct request make = {.ask = make_module, .bytes = wish[0], .name_bytes = 71};
  memcpy(make.name, "sha256:", 7);
  memset(make.name + 7, '0', 64);
  struct answer said;
  for (uint64_t i = 0; i < wish[1]; ++i) {
    const int file = ask((struct request){.ask = create_module, .bytes = wish[0]}, &said);
    if (said.verdict == refused) break; /* it has asked for too much before */
    if (said.verdict != done || file < 0) return ORCHID_BAD_ARGUMENTS;
    const long shared[6] = {0, (long)wish[0], PROT_READ | PROT_WRITE, MAP_SHARED, file, 0};
    void* room = (void*)raw_call(SYS_mmap, shared);
    memset(room, '\n', wish[0]);
    memcpy(room, &i, sizeof i < wish[0] ? sizeof i : wish[0]);
    const long whole[6] = {(long)room, (long)wish[0]};
    raw_call(SYS_munmap, whole);
    const long descriptor[6] = {file};
    raw_call(SYS_close, descriptor);
    ask(make, &said);
    if (said.verdict != refused) return ORCHID_BAD_ARGUMENTS;
  }
  void* output = orchid_output(call, said.message_bytes);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, said.message, said.message_bytes);
  return ORCHID_OK;
}
