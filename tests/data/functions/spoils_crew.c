/* Writes rubbish into the ring to the member that has sent it here, as no function of good will
 * can. */
#include <string.h>

#include "orchid/function.h"

/* Where things are in the memory of a pair (transport/crew_memory.h). */
struct pair {
  uint64_t direction_bytes;
  uint64_t rooms_offset;
  uint64_t room_bytes;
  uint64_t entry_bytes;
  uint64_t entries;
  uint64_t sequence_offset;
  uint64_t taken_offset;
};

/* Input: struct pair, and so much more that it lies in the pair's memory. Begins at member 1. */
ORCHID_ENTRY(go_and_spoil) { return orchid_forward(call, 2, "spoil", input, input_size); }

/* Behind so many messages that are still to be written. */
static int32_t spoil(orchid_call* call, const void* input, size_t size, uint64_t behind) {
  struct pair pair;
  if (size < sizeof(pair) || orchid_member(call) != 2) return ORCHID_BAD_ARGUMENTS;
  memcpy(&pair, input, sizeof(pair));
  const uint64_t place = orchid_invocation_id(call) % 256;
  unsigned char* from = (unsigned char*)input - pair.rooms_offset - place * pair.room_bytes;
  unsigned char* ring = from + pair.direction_bytes;
  const uint64_t number = *(volatile uint64_t*)(ring + pair.taken_offset) + behind;
  unsigned char* entry = ring + number % pair.entries * pair.entry_bytes;
  memset(entry, 0x5a, pair.sequence_offset);
  __atomic_store_n((uint64_t*)(entry + pair.sequence_offset), number + 1, __ATOMIC_RELEASE);
  return ORCHID_OK;
}
ORCHID_ENTRY(spoil) { return spoil(call, input, input_size, 0); }

/* Member 1 finds the rubbish when it has sent the call back. */
ORCHID_ENTRY(spoil_again) { return orchid_forward(call, 2, "spoil_and_return", input, input_size); }
ORCHID_ENTRY(spoil_and_return) {
  const int32_t spoilt = spoil(call, input, input_size, 1);
  return spoilt == ORCHID_OK ? orchid_forward(call, 1, "send_back", input, 8) : spoilt;
}
ORCHID_ENTRY(send_back) { return orchid_forward(call, 2, "stay", input, input_size); }
ORCHID_ENTRY(stay) {
  (void)input;
  (void)input_size;
  while (!orchid_should_stop(call)) {
  }
  return ORCHID_ERROR;
}
