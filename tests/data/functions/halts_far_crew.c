/* A walk and a tree that ask for code at one of their steps, and so halt until the test has sent
 * it, at whatever executor they are. */
#include <string.h>

#include "crew_steps.h"
#include "orchid/function.h"

struct plan {
  uint32_t halt_at; /* the step */
  uint32_t step;
  uint32_t last; /* of the walk */
  uint32_t unused;
  uint64_t sum;      /* of the steps that were done */
  char function[48]; /* that is not there */
};

static int32_t halt(orchid_call* call, const struct plan* plan) {
  const void* output = NULL;
  size_t size = 0;
  if (plan->step != plan->halt_at) return ORCHID_OK;
  return orchid_invoke_inline(call, plan->function, NULL, 0, &output, &size);
}

static int32_t read_plan(const void* input, size_t size, struct plan* plan) {
  if (size != sizeof(*plan)) return ORCHID_BAD_ARGUMENTS;
  memcpy(plan, input, sizeof(*plan));
  plan->function[sizeof(plan->function) - 1] = 0;
  return ORCHID_OK;
}

/* From member to member. Output: the sum of 1 << 8 * step over its steps. */
ORCHID_ENTRY(far_walk) {
  struct plan plan;
  int32_t status = read_plan(input, input_size, &plan);
  if (status == ORCHID_OK) status = halt(call, &plan);
  if (status != ORCHID_OK) return status;
  plan.sum += UINT64_C(1) << 8 * plan.step;
  if (plan.step++ == plan.last) return give(call, plan.sum);
  const uint32_t next = orchid_member(call) % orchid_member_count(call) + 1;
  return orchid_forward(call, next, NULL, &plan, sizeof(plan));
}

/* Step 0: the root, with three children, which are the steps 1 to 3; step 4: where it goes on. */
ORCHID_ENTRY(far_tree) {
  struct plan plan;
  int32_t status = read_plan(input, input_size, &plan);
  plan.step = 0;
  if (status == ORCHID_OK) status = halt(call, &plan);
  if (status != ORCHID_OK) return status;
  for (plan.step = 1; plan.step <= 3; ++plan.step)
    orchid_spawn(call, "far_leaf", &plan, sizeof(plan));
  plan.step = 4;
  plan.sum = 1;
  return orchid_then(call, "far_join", &plan, sizeof(plan));
}
ORCHID_ENTRY(far_leaf) {
  struct plan plan;
  int32_t status = read_plan(input, input_size, &plan);
  if (status == ORCHID_OK) status = halt(call, &plan);
  return status == ORCHID_OK ? give(call, UINT64_C(1) << 8 * plan.step) : status;
}
ORCHID_ENTRY(far_join) {
  struct plan plan;
  int32_t status = read_plan(input, input_size, &plan);
  if (status == ORCHID_OK) status = halt(call, &plan);
  if (status != ORCHID_OK) return status;
  return give_with_children(call, plan.sum + (UINT64_C(1) << 8 * plan.step));
}
