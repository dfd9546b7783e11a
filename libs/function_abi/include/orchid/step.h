/* orchid/step.h: step functions: work that lasts longer than one call may, in batches. A flow's
 * node of kind iterate calls such an entry again and again (docs/guide/flows.md), each time with
 * the state that the last batch has come to and a budget for the next one; whatever is lost in
 * between, it goes on from a state that is there.
 *
 * The signature of a step entry is step<S>(struct<16,8:u64@0,u64@8>,S,...): its input is a budget,
 * then the state and further values. Its output is a head, then the new state. S is any type of
 * docs/PROTOCOL.md, section 7; data<T> is a data object, which stays on its host. In C:
 *
 *     ORCHID_STEP(halve, "f64") {
 *       orchid_stepper stepper;
 *       double value = 0;
 *       if (orchid_step_begin(&stepper, call, input, input_size) != ORCHID_OK)
 *         return ORCHID_BAD_ARGUMENTS;
 *       memcpy(&value, orchid_step_state(input), sizeof value);
 *       do value /= 2; while (value > 1 && orchid_step_next(&stepper));
 *       double* next = orchid_step_output(&stepper, value <= 1, sizeof value);
 *       ...
 *     }
 *
 * C++: orchid/step.hpp. */
#ifndef ORCHID_STEP_H
#define ORCHID_STEP_H

#include <string.h>
#include <time.h>

#include "orchid/function.h"

/* How much the next batch may do: so long, from its call on, and so many steps. 0: no such bound.
 */
typedef struct orchid_step_budget {
  uint64_t ns;
  uint64_t steps;
} orchid_step_budget;

/* In front of the state that a batch has come to. */
typedef struct orchid_step_head {
  uint64_t done;  /* 1: there is nothing more to do; else 0 */
  uint64_t steps; /* that this batch has made, for people to see */
} orchid_step_head;

/* What is left of the budget of a running batch. */
typedef struct orchid_stepper {
  orchid_call* call;
  uint64_t end_ns; /* of the monotonic clock; 0: no end */
  uint64_t most;   /* 0: no bound */
  uint64_t steps;  /* that were made */
} orchid_stepper;

static inline ORCHID_UNUSED uint64_t orchid_step_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline ORCHID_UNUSED void orchid_step_start(orchid_stepper* stepper, orchid_call* call,
                                                   const orchid_step_budget* budget) {
  stepper->call = call;
  stepper->end_ns = budget->ns == 0 ? 0 : orchid_step_now() + budget->ns;
  stepper->most = budget->steps;
  stepper->steps = 0;
}

/* From the input of the entry. Anything but ORCHID_OK: there is no budget in it. */
static inline ORCHID_UNUSED int32_t orchid_step_begin(orchid_stepper* stepper, orchid_call* call,
                                                      const void* input, size_t input_size) {
  orchid_step_budget budget;
  if (input_size < sizeof budget) return ORCHID_BAD_ARGUMENTS;
  memcpy(&budget, input, sizeof budget);
  orchid_step_start(stepper, call, &budget);
  return ORCHID_OK;
}

/* What lies behind the budget: the state, unless it is data, and further values. */
static inline ORCHID_UNUSED const void* orchid_step_state(const void* input) {
  return (const char*)input + sizeof(orchid_step_budget);
}

/* After each step: it is counted. 0: the budget is used up, or the place is taken back, or the call
 * is to end: give the state that there is now. A step should take a small part of the budget:
 * nobody ends one in the middle. Some 30 ns. */
static inline ORCHID_UNUSED int orchid_step_next(orchid_stepper* stepper) {
  ++stepper->steps;
  if (stepper->most != 0 && stepper->steps >= stepper->most) return 0;
  if (orchid_should_stop(stepper->call)) return 0;
  return stepper->end_ns == 0 || orchid_step_now() < stepper->end_ns;
}

/* Room for the new state, with its head before it: what the entry gives when it returns ORCHID_OK.
 * Of data it is ORCHID_DATA_ID_BYTES: the id of the object that the batch has made. NULL: as of
 * orchid_output. */
static inline ORCHID_UNUSED void* orchid_step_output(orchid_stepper* stepper, int done,
                                                     size_t state_size) {
  orchid_step_head head;
  char* room = (char*)orchid_output(stepper->call, sizeof head + state_size);
  if (room == NULL) return NULL;
  head.done = done ? 1 : 0;
  head.steps = stepper->steps;
  memcpy(room, &head, sizeof head);
  return room + sizeof head;
}

/* Opens a step entry whose state has the type `state`, a text such as "f64" or "data<f64>". */
#define ORCHID_STEP(name, state)                                                                \
  ORCHID_DECLARE_C ORCHID_EXPORT const char orchid_signature_##name[];                          \
  const char orchid_signature_##name[] = "step<" state ">(struct<16,8:u64@0,u64@8>," state ")"; \
  ORCHID_ENTRY(name)

#endif /* ORCHID_STEP_H */
