/* Made for a later Orchid, and does not look who asks. */
#include "placement/policy_abi.h"

static const struct orchid_placement_policy_table policy = {
    ORCHID_PLACEMENT_ABI + 1, "tomorrow", ORCHID_PLACEMENT_FEWEST_FREE, 1, 0, 0};

const struct orchid_placement_policy_table* orchid_placement_policy(uint32_t abi) {
  (void)abi;
  return &policy;
}
