/* other_abi.c: an optimiser that was built for another version of the ABI. */
#include "optimiser/optimiser_abi.h"

static int decide(void* state, const struct orchid_optimiser_situation* situation,
                  struct orchid_optimiser_decision* decision) {
  (void)state;
  (void)situation;
  (void)decision;
  return 0;
}

static const struct orchid_optimiser_table table = {ORCHID_OPTIMISER_ABI + 1, "other", 0, decide,
                                                    0};

const struct orchid_optimiser_table* orchid_optimiser(uint32_t abi) {
  (void)abi;
  return &table;
}
