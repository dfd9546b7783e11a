/* first_abi.c: an optimiser that was built for version 1 of the ABI. What follows is that version's
 * header, as far as it is used here, and is never changed. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
  uint32_t abi; /* ORCHID_OPTIMISER_ABI */
  const char* name;
  const char* description; /* for `orchid flow plan`; may be null */
  /* 0: decided. Anything else: it cannot, and is not asked again. Called by one thread. */
  int (*decide)(void* state, const struct orchid_optimiser_situation* situation,
                struct orchid_optimiser_decision* decision);
  void* state; /* given to `decide`; null if it needs none */
};

/* The one function of the library. `abi` is the caller's; null: the library cannot serve it. What
 * it returns lives as long as the process. */
const struct orchid_optimiser_table* orchid_optimiser(uint32_t abi);

static int decide(void* state, const struct orchid_optimiser_situation* situation,
                  struct orchid_optimiser_decision* decision) {
  const struct orchid_optimiser_host* const last = &situation->hosts[situation->host_count - 1];
  struct orchid_optimiser_advice* const advice = &decision->advice[0];
  (void)state;
  memset(advice, 0, sizeof *advice);
  advice->node = situation->nodes[0].number;
  advice->says = ORCHID_OPTIMISER_PRIORITY;
  snprintf(advice->why, sizeof advice->why, "%.20s, %u cores free on %.20s",
           situation->nodes[0].name, last->cores_free, last->name);
  decision->advice_count = 1;
  return 0;
}

static const struct orchid_optimiser_table table = {1, "first", 0, decide, 0};

const struct orchid_optimiser_table* orchid_optimiser(uint32_t abi) {
  return abi == 1 ? &table : 0;
}
