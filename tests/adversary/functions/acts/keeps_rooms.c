/* Keeps a descriptor and a mapping of each room that it has made and wants sealed, and gives the
 * rooms up: what is it left with? */
#include <sys/mman.h>
#include <sys/stat.h>

#include "ask_depot.h"

ACT(keeps_rooms) {
  enum { rooms = 8, room_bytes = 8 << 20 };
  int files[rooms];
  int refused = 0;
  for (int i = 0; i < rooms; ++i) {
    struct depot_request request;
    struct depot_answer made;
    struct depot_answer answer;
    memset(&request, 0, sizeof request);
    request.ask = depot_creates;
    request.bytes = room_bytes;
    files[i] = ask_depot(request, &made);
    const long room =
        raw_call(SYS_mmap, 0, room_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[i], 0);
    if (room < 0) return say(call, "no room");
    memset((void*)room, 1, room_bytes);
    raw_call(SYS_munmap, room, room_bytes, 0, 0, 0, 0);
    raw_call(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, files[i], 0);
    request.ask = depot_seals;
    memcpy(request.data, made.data, sizeof request.data);
    ask_depot(request, &answer);
    refused += answer.verdict == depot_refuses;
    request.ask = depot_discards;
    ask_depot(request, &answer);
  }
  unsigned long kept = 0;
  for (int i = 0; i < rooms; ++i) {
    struct stat status;
    if (raw_call(SYS_fstat, files[i], (long)&status, 0, 0, 0, 0) == 0)
      kept += (unsigned long)status.st_size;
  }
  char text[64];
  snprintf(text, sizeof text, "%d refused, %lu bytes kept", refused, kept);
  return say(call, text);
}
