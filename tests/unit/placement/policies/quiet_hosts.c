/* A site's policy: hosts that draw little power for what they do, and never the login hosts. */
#include <math.h>
#include <string.h>

#include "placement/policy_abi.h"

static double score(void* state, const struct orchid_placement_request* request,
                    const struct orchid_placement_candidate* candidate) {
  (void)state;
  (void)request;
  if (strncmp(candidate->host, "login", 5) == 0) return NAN; /* not there */
  if (candidate->watts < 0) return 1000;
  return candidate->watts / (1 + candidate->cores_total - candidate->cores_free);
}

static const struct orchid_placement_policy_table policy = {
    ORCHID_PLACEMENT_ABI, "quiet_hosts", ORCHID_PLACEMENT_FEWEST_FREE, 16, score, 0};

const struct orchid_placement_policy_table* orchid_placement_policy(uint32_t abi) {
  return abi == ORCHID_PLACEMENT_ABI ? &policy : 0;
}
