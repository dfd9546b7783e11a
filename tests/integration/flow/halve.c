/* A step function in C. */
#include "orchid/step.h"

ORCHID_STEP(halve, "f64") {
  orchid_stepper stepper;
  double value = 0;
  void* next;
  if (orchid_step_begin(&stepper, call, input, input_size) != ORCHID_OK)
    return ORCHID_BAD_ARGUMENTS;
  memcpy(&value, orchid_step_state(input), sizeof value);
  do {
    value /= 2;
  } while (orchid_step_next(&stepper) && value > 1);
  next = orchid_step_output(&stepper, value <= 1, sizeof value);
  if (next == NULL) return ORCHID_ERROR;
  memcpy(next, &value, sizeof value);
  return ORCHID_OK;
}
