/* optimiser/optimiser_abi.h: what an optimiser of flows in a shared library has to export. Plain C,
 * so that the compiler and its standard library may be others than Orchid's. docs/guide/flows.md
 * shows one. The library runs in a process of its own (orchid-optimiser), which can read libraries
 * and nothing else. It has 100 ms for a decision. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when something below changes its meaning, or when fields are added, which come at the end
 * of the situation alone: the structs that it points to have the same size for ever. A library of
 * version 1 is served still. 2: the situation has `host_clusters` and `node_places`. */
#define ORCHID_OPTIMISER_ABI 2

/* Strings and structs live during the call only. */

struct orchid_optimiser_host {
  const char* name;
  const char* kind; /* "cpu", "gpu", "dpu" */
  uint32_t cores_total;
  uint32_t cores_free;
  uint32_t gpus_free;
  double speed;          /* relative to the other hosts; 1: not known */
  double watts;          /* that it draws now; negative: it does not report that */
  double watts_per_core; /* more, for a core that works; 0: not declared */
};

/* A node that has calls to start. */
struct orchid_optimiser_node {
  uint32_t number; /* what decisions call it */
  const char* name;
  const char* kind; /* "call", "map", as in documents */
  const char* function;
  uint64_t input_bytes;
  double seconds_to_end; /* of the flow, along the longest path from here, as far as is known */
  uint64_t pieces_left;  /* for which no call has been started; 1 if it is not in pieces */
  uint64_t pieces_total;
  uint32_t calls_open;
  uint32_t takes_runs; /* 1: a call may be given several pieces */
};

/* Which hosts a node's calls may use. */
struct orchid_optimiser_place {
  const char* host_kind; /* "": any */
  const char* cluster;   /* the name of the hosts' cluster; "": any */
};

/* What calls of a function have taken in this flow. */
struct orchid_optimiser_times {
  const char* function;
  const char* host_kind; /* "": not known */
  uint64_t calls;
  uint64_t pieces;
  double run_seconds;      /* of all of them */
  double overhead_seconds; /* the least that one took beside its run time */
};

struct orchid_optimiser_option {
  const char* name; /* as the flow's document has it */
  const char* value;
};

struct orchid_optimiser_situation {
  const struct orchid_optimiser_node* nodes;
  size_t node_count;
  const struct orchid_optimiser_host* hosts; /* none: not known */
  size_t host_count;
  const struct orchid_optimiser_times* times;
  size_t times_count;
  const struct orchid_optimiser_option* options;
  size_t option_count;
  uint32_t workers;    /* that run calls side by side */
  uint32_t calls_most; /* that may be open */
  /* Since version 2: */
  const char* const* host_clusters;                 /* as many as hosts; "": it is in none */
  const struct orchid_optimiser_place* node_places; /* as many as nodes */
};

/* What is said of a node, or'ed together in `says`. */
enum orchid_optimiser_says {
  ORCHID_OPTIMISER_PRIORITY = 1, /* `priority` counts */
  ORCHID_OPTIMISER_CALLS = 2,    /* `calls` counts */
  ORCHID_OPTIMISER_HOST = 4      /* `host` counts */
};

struct orchid_optimiser_advice {
  uint32_t node; /* one of the situation's */
  uint32_t says;
  int64_t priority; /* nodes with a higher one go first */
  uint64_t calls; /* what is left of a node that takes runs is cut into so many; 1 to pieces_left */
  uint32_t host;  /* index of the host that suits it; a wish, which `why` tells people */
  char why[160];  /* for people; may be empty */
};

struct orchid_optimiser_decision {
  struct orchid_optimiser_advice* advice; /* room for one of each node */
  size_t advice_room;
  size_t advice_count; /* 0 at first */
  uint32_t calls_open; /* at most; 0: nothing is said */
};

struct orchid_optimiser_table {
  uint32_t abi; /* ORCHID_OPTIMISER_ABI, or an earlier one */
  const char* name;
  const char* description; /* for `orchid flow plan`; may be null */
  /* 0: decided. Anything else: it cannot, and is not asked again. Called by one thread. */
  int (*decide)(void* state, const struct orchid_optimiser_situation* situation,
                struct orchid_optimiser_decision* decision);
  void* state; /* given to `decide`; null if it needs none */
};

/* The one function of the library. `abi` is what the caller can serve; null: the library cannot use
 * it, and is asked once more with the version before. What it returns lives as long as the process.
 */
const struct orchid_optimiser_table* orchid_optimiser(uint32_t abi);

#ifdef __cplusplus
}
#endif
