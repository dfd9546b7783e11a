/* A policy that was not finished. */
#include "placement/policy_abi.h"

static const struct orchid_placement_policy_table policy = {
    ORCHID_PLACEMENT_ABI, "unfinished", ORCHID_PLACEMENT_FEWEST_FREE, 1, 0, 0};

const struct orchid_placement_policy_table* orchid_placement_policy(uint32_t abi) {
  (void)abi;
  return &policy;
}
