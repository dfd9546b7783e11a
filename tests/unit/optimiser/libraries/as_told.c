/* as_told.c: an optimiser that does what its option "act" says, for good or bad. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "optimiser/optimiser_abi.h"

static const char* act_of(const struct orchid_optimiser_situation* situation) {
  for (size_t i = 0; i < situation->option_count; ++i)
    if (strcmp(situation->options[i].name, "act") == 0) return situation->options[i].value;
  return "";
}

static int decide(void* state, const struct orchid_optimiser_situation* situation,
                  struct orchid_optimiser_decision* decision) {
  const char* const act = act_of(situation);
  static const char noise[] = "not for the flow's results\n";
  (void)state;
  if (write(STDOUT_FILENO, noise, sizeof noise - 1) < 0) return 8;
  if (getenv("ORCHID_TOKEN")) return 9;
  if (strcmp(act, "crash") == 0) raise(SIGSEGV);
  if (strcmp(act, "hang") == 0)
    for (;;) pause();
  if (strcmp(act, "give_up") == 0) return 7;
  for (size_t i = 0; i < situation->node_count; ++i) {
    const struct orchid_optimiser_node* const node = &situation->nodes[i];
    struct orchid_optimiser_advice* const advice = &decision->advice[decision->advice_count++];
    memset(advice, 0, sizeof *advice);
    advice->node = node->number;
    advice->says = ORCHID_OPTIMISER_PRIORITY;
    advice->priority = (int64_t)node->pieces_left;
    snprintf(advice->why, sizeof advice->why, "%lu left", (unsigned long)node->pieces_left);
    if (node->takes_runs) advice->says |= ORCHID_OPTIMISER_CALLS;
    advice->calls = node->pieces_left < 4 ? node->pieces_left : 4;
    if (strcmp(act, "no_calls") == 0) advice->calls = 0;
    if (strcmp(act, "many_calls") == 0) advice->calls = 1000000000;
    if (strcmp(act, "unknown_node") == 0) advice->node = 4000000000U;
    if (strcmp(act, "nobody") == 0) {
      advice->says |= ORCHID_OPTIMISER_HOST;
      advice->host = 12;
    }
    if (strcmp(act, "places") == 0) {
      size_t usable = 0;
      for (size_t j = 0; j < situation->host_count; ++j)
        usable += strcmp(situation->node_places[i].cluster, situation->host_clusters[j]) == 0;
      snprintf(advice->why, sizeof advice->why, "%lu hosts of '%s', kind '%s'",
               (unsigned long)usable, situation->node_places[i].cluster,
               situation->node_places[i].host_kind);
    }
    if (strcmp(act, "opens_files") == 0 && access("/etc/passwd", R_OK) == 0) {
      FILE* const file = fopen("/etc/passwd", "r");
      snprintf(advice->why, sizeof advice->why, file ? "reads files" : "reads no files");
      if (file) fclose(file);
    }
  }
  if (strcmp(act, "too_much") == 0) decision->advice_count = decision->advice_room + 1;
  return 0;
}

static const struct orchid_optimiser_table table = {ORCHID_OPTIMISER_ABI, "as_told",
                                                    "does as it is told", decide, 0};

const struct orchid_optimiser_table* orchid_optimiser(uint32_t abi) {
  return abi == ORCHID_OPTIMISER_ABI ? &table : 0;
}
