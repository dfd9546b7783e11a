/* A walk and a tree that halt at one of their steps, until the test that shares memory with their
 * member gives leave. */
#include <string.h>

#include "crew_steps.h"
#include "orchid/function.h"

struct plan {
  uint32_t halt_at; /* the step */
  uint32_t step;
  uint32_t last; /* of the walk */
  uint32_t unused;
  uint64_t sum; /* of the steps that were done */
};

enum { room_size = 4096 };

/* In the room of an answer: the step, and the word of leave. */
static void halt(orchid_call* call, uint32_t step) {
  volatile uint64_t* room = orchid_output(call, room_size);
  if (room == NULL) return;
  room[1] = 0;
  __atomic_store_n(&room[0], UINT64_C(0x4f72636869640000) + step, __ATOMIC_RELEASE);
  while (__atomic_load_n(&room[1], __ATOMIC_ACQUIRE) == 0)
    if (orchid_should_stop(call)) break;
  __atomic_store_n(&room[0], 0, __ATOMIC_RELEASE);
}

/* From member to member. Output: the sum of 1 << 8 * step over its steps. */
ORCHID_ENTRY(halt_walk) {
  struct plan plan;
  if (input_size != sizeof(plan)) return ORCHID_BAD_ARGUMENTS;
  memcpy(&plan, input, sizeof(plan));
  if (plan.step == plan.halt_at) halt(call, plan.step);
  plan.sum += UINT64_C(1) << 8 * plan.step;
  if (plan.step++ == plan.last) return give(call, plan.sum);
  const uint32_t next = orchid_member(call) % orchid_member_count(call) + 1;
  return orchid_forward(call, next, NULL, &plan, sizeof(plan));
}

/* Step 0: the root, with three children, which are the steps 1 to 3; step 4: where it goes on. */
ORCHID_ENTRY(halt_tree) {
  struct plan plan;
  if (input_size != sizeof(plan)) return ORCHID_BAD_ARGUMENTS;
  memcpy(&plan, input, sizeof(plan));
  if (plan.halt_at == 0) halt(call, 0);
  for (plan.step = 1; plan.step <= 3; ++plan.step)
    orchid_spawn(call, "halt_leaf", &plan, sizeof(plan));
  plan.step = 4;
  plan.sum = 1;
  return orchid_then(call, "halt_join", &plan, sizeof(plan));
}
ORCHID_ENTRY(halt_leaf) {
  struct plan plan;
  if (input_size != sizeof(plan)) return ORCHID_BAD_ARGUMENTS;
  memcpy(&plan, input, sizeof(plan));
  volatile uint64_t* room = orchid_output(call, room_size);
  if (room == NULL) return ORCHID_ERROR;
  room[8 + plan.step] = 1; /* it has run here */
  if (plan.step == plan.halt_at) halt(call, plan.step);
  return give(call, UINT64_C(1) << 8 * plan.step);
}
ORCHID_ENTRY(halt_join) {
  struct plan plan;
  if (input_size != sizeof(plan)) return ORCHID_BAD_ARGUMENTS;
  memcpy(&plan, input, sizeof(plan));
  if (plan.step == plan.halt_at) halt(call, plan.step);
  return give_with_children(call, plan.sum + (UINT64_C(1) << 8 * plan.step));
}
