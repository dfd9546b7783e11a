/* Goes from member to member of its crew: each step adds its member's number to a sum, and says
 * where it was. Input: struct walk, and bytes that go along. */
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

struct walk {
  uint32_t left;   /* steps to go */
  uint32_t stride; /* from member to member; 0: to itself */
  uint64_t sum;
};

static int32_t take_step(orchid_call* call, const char* entry, const void* input, size_t size) {
  struct walk walk;
  if (size < sizeof(walk)) return ORCHID_BAD_ARGUMENTS;
  memcpy(&walk, input, sizeof(walk));
  walk.sum += orchid_member(call);
  if (walk.left == 0) {
    void* out = orchid_output(call, size);
    if (out == NULL) return ORCHID_ERROR;
    memcpy(out, input, size);
    memcpy(out, &walk, sizeof(walk));
    return ORCHID_OK;
  }
  --walk.left;
  memcpy((void*)input, &walk, sizeof(walk));
  const uint32_t members = orchid_member_count(call);
  const uint32_t next = members == 0 ? 1 : (orchid_member(call) - 1 + walk.stride) % members + 1;
  return orchid_forward(call, next, entry, input, size);
}

ORCHID_ENTRY(walk) { return take_step(call, NULL, input, input_size); }

/* As walk, by turns with another entry. */
ORCHID_ENTRY(hop) { return take_step(call, "skip", input, input_size); }
ORCHID_ENTRY(skip) { return take_step(call, "hop", input, input_size); }

/* Logs at each step, and fails where it ends. */
ORCHID_ENTRY(complain) {
  struct walk walk;
  if (input_size < sizeof(walk)) return ORCHID_BAD_ARGUMENTS;
  memcpy(&walk, input, sizeof(walk));
  char line[64];
  const int length = snprintf(line, sizeof(line), "at %u\n", orchid_member(call));
  orchid_log(call, line, (size_t)length);
  if (walk.left == 0) {
    orchid_error(call, "the end of the walk", 19);
    return ORCHID_ERROR;
  }
  --walk.left;
  return orchid_forward(call, orchid_member(call) % orchid_member_count(call) + 1, NULL, &walk,
                        sizeof(walk));
}

/* Runs until it is asked to stop. */
ORCHID_ENTRY(linger) {
  (void)input;
  (void)input_size;
  while (!orchid_should_stop(call)) {
  }
  return ORCHID_ERROR;
}

/* Asks for what its input says (member, size, and the entry's name), and returns that all is well,
 * whatever it is told. */
ORCHID_ENTRY(ask) {
  static char bytes[1 << 20];
  uint32_t wish[2];
  char entry[64] = "";
  if (input_size < sizeof(wish) || input_size - sizeof(wish) >= sizeof(entry))
    return ORCHID_BAD_ARGUMENTS;
  memcpy(wish, input, sizeof(wish));
  memcpy(entry, (const char*)input + sizeof(wish), input_size - sizeof(wish));
  orchid_forward(call, wish[0], entry[0] == 0 ? NULL : entry, bytes, wish[1]);
  return ORCHID_OK;
}

/* Asks to go on, and fails. */
ORCHID_ENTRY(waver) {
  (void)input_size;
  orchid_forward(call, 1, "walk", input, input_size);
  orchid_error(call, "it has changed its mind", 23);
  return ORCHID_ERROR;
}

/* Has made data when it goes on. */
ORCHID_ENTRY(make_and_go) {
  void* room = NULL;
  (void)orchid_data_create(call, 4096, &room);
  return orchid_forward(call, 1, "walk", input, input_size);
}

/* Crashes at the member that the input's first word says, else goes on to it. */
ORCHID_ENTRY(crash_at) {
  uint32_t member;
  if (input_size != sizeof(member)) return ORCHID_BAD_ARGUMENTS;
  memcpy(&member, input, sizeof(member));
  if (member == orchid_member(call)) *(volatile int*)8 = 1;
  return orchid_forward(call, member, NULL, input, input_size);
}

/* Says more than an answer may have. */
ORCHID_ENTRY(overflow) {
  (void)input;
  (void)input_size;
  return orchid_output(call, (64 << 10) + 1) == NULL ? ORCHID_ERROR : ORCHID_OK;
}
