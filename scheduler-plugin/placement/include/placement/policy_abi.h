/* placement/policy_abi.h: what a site's placement policy in a shared library has to export. Plain
 * C, so that the compiler and its standard library may be others than Orchid's.
 * docs/guide/placement-policy.md shows one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when something below changes its meaning. Fields are only added, at the end of the structs
 * that Orchid fills. */
#define ORCHID_PLACEMENT_ABI 1

enum orchid_placement_order {
  ORCHID_PLACEMENT_FEWEST_FREE = 0,
  ORCHID_PLACEMENT_MOST_FREE = 1,
  ORCHID_PLACEMENT_LEAST_WATTS = 2,
  ORCHID_PLACEMENT_NEAREST_FIRST = 3
};

/* What one worker wants. Strings and structs live during the call only. */
struct orchid_placement_request {
  uint32_t tenant;  /* uid */
  uint32_t workers; /* at once; each worker of a lease is asked for by itself */
  uint32_t cores;   /* of one worker, as all that follows */
  uint32_t gpus;
  uint64_t memory;      /* bytes */
  uint64_t lifetime_ms; /* that the grant lasts at least */
};

/* A place with room for it. */
struct orchid_placement_candidate {
  const char* host; /* name */
  const char* architecture;
  const char* source; /* "local", "slurm" */
  uint32_t cores_total;
  uint32_t cores_free; /* of the grant */
  uint32_t gpus_free;
  uint32_t owner; /* uid of the grant's owner */
  uint64_t memory_free;
  int64_t remaining_ms;  /* until the grant ends; -1: it has no end */
  double watts;          /* expected of the host; negative: unknown */
  uint32_t workers_here; /* of the same lease, on this host */
  int32_t near_rank;     /* position of the host in the request's list; -1: not in it */
};

struct orchid_placement_policy_table {
  uint32_t abi; /* ORCHID_PLACEMENT_ABI */
  const char* name;
  int32_t order;       /* enum orchid_placement_order */
  uint32_t candidates; /* compared for a worker, 1 to 64; each costs time */
  /* The lowest score wins; NaN: not there. Called by one thread; it must neither block nor throw,
   * and must answer the same for the same arguments. */
  double (*score)(void* state, const struct orchid_placement_request* request,
                  const struct orchid_placement_candidate* candidate);
  void* state; /* given to `score`; null if it needs none */
};

/* The one function of the library. `abi` is the caller's; null: the library cannot serve it. What
 * it returns lives as long as the library is loaded, which is until the program ends. */
const struct orchid_placement_policy_table* orchid_placement_policy(uint32_t abi);

#ifdef __cplusplus
}
#endif
