/* Twenty times: a room, of which it keeps a "descriptor" or a "mapping" (the input) when it has it
 * sealed, and then discarded. All of it over the worker's service socket (descriptor 10), as a
 * worker does it. The output says how often sealing was refused, and how many bytes it still has.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "orchid/function.h"
#include "service_socket.h"

enum { rounds = 20, room_bytes = 64 << 20 };

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
