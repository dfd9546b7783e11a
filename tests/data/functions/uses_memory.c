/* Uses leased memory as its input says: words, with blanks between them, of which the first is the
 * lease.
 *
 *   LEASE put OFFSET SIZE SEED: writes bytes that the seed stands for
 *   LEASE compare OFFSET SIZE SEED: "same", or "different"
 *   LEASE both OFFSET SIZE SEED: the first, and then the second
 *   LEASE batch OFFSET COUNT SEED: puts so many pages and gets them, in one batch: "same", or
 *     "different"
 *   LEASE column OFFSET COUNT SEED: the same of numbers that are 1000 bytes apart
 *   LEASE later OFFSET SIZE SEED: puts and gets, both of which it waits for when it has begun them
 *   LEASE add OFFSET ADD, LEASE swap OFFSET EXPECTED DESIRED: what was there before
 *   LEASE fence: the size
 *   LEASE get_for_ever OFFSET, LEASE add_for_ever OFFSET: until it fails, or is asked to stop; it
 *     says its progress after the first one
 *   LEASE again OFFSET: the same as get_for_ever, and then opened and read once more: "again"
 *
 * A status that is not ORCHID_OK is returned. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchid/function.h"

typedef struct {
  char lease[64];
  char act[16];
  uint64_t numbers[3];
} words;

static int32_t say(orchid_call* call, const char* text) {
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}

static int32_t say_number(orchid_call* call, uint64_t number) {
  char text[32];
  snprintf(text, sizeof text, "%" PRIu64, number);
  return say(call, text);
}

/* Of seed 0 all are zero. */
static unsigned char byte_of(uint64_t i, uint64_t seed) {
  return seed == 0 ? 0 : (unsigned char)(((i + seed) * 2654435761U) >> 13U);
}

static int32_t move(orchid_call* call, uint32_t memory, const words* asked) {
  const uint64_t size = asked->numbers[1];
  const uint64_t seed = asked->numbers[2];
  const int puts = strcmp(asked->act, "put") == 0;
  unsigned char* bytes = malloc(size + 1);
  if (bytes == NULL) return ORCHID_ERROR;
  for (uint64_t i = 0; puts && i < size; ++i) bytes[i] = byte_of(i, seed);
  int32_t status = puts ? orchid_leased_put(call, memory, asked->numbers[0], bytes, size)
                        : orchid_leased_get(call, memory, asked->numbers[0], bytes, size);
  int same = 1;
  for (uint64_t i = 0; status == ORCHID_OK && i < size; ++i)
    if (bytes[i] != byte_of(i, seed)) same = 0;
  free(bytes);
  if (status != ORCHID_OK) return status;
  return say(call, puts ? "put" : same ? "same" : "different");
}

static int32_t move_both(orchid_call* call, uint32_t memory, const words* asked) {
  words step = *asked;
  strcpy(step.act, "put");
  const int32_t status = move(call, memory, &step);
  strcpy(step.act, "compare");
  return status == ORCHID_OK ? move(call, memory, &step) : status;
}

static int32_t say_same(orchid_call* call, const unsigned char* bytes, uint64_t size,
                        uint64_t seed) {
  int same = 1;
  for (uint64_t i = 0; i < size; ++i)
    if (bytes[i] != byte_of(i, seed)) same = 0;
  return say(call, same ? "same" : "different");
}

enum { page = 4096 };

static int32_t go_together(orchid_call* call, uint32_t memory, const words* asked) {
  const uint64_t count = asked->numbers[1];
  orchid_leased_step* steps = malloc(2 * count * sizeof *steps);
  unsigned char* put = malloc(count * page);
  unsigned char* got = malloc(count * page);
  if (steps == NULL || put == NULL || got == NULL) return ORCHID_ERROR;
  for (uint64_t i = 0; i < count * page; ++i) put[i] = byte_of(i, asked->numbers[2]);
  for (uint64_t i = 0; i < count; ++i) {
    const orchid_leased_step step = {
        .offset = asked->numbers[0] + i * page, .row = page, .count = 1, .put = put + i * page};
    steps[2 * i] = steps[2 * i + 1] = step;
    steps[2 * i + 1].put = NULL;
    steps[2 * i + 1].get = got + i * page;
  }
  const int32_t status = orchid_leased_run(call, memory, steps, 2 * count);
  return status == ORCHID_OK ? say_same(call, got, count * page, asked->numbers[2]) : status;
}

static int32_t go_in_rows(orchid_call* call, uint32_t memory, const words* asked) {
  const uint64_t count = asked->numbers[1];
  unsigned char* put = malloc(count * 8);
  unsigned char* got = malloc(count * 8);
  if (put == NULL || got == NULL) return ORCHID_ERROR;
  for (uint64_t i = 0; i < count * 8; ++i) put[i] = byte_of(i, asked->numbers[2]);
  orchid_leased_step steps[2] = {
      {asked->numbers[0], 8, 1000, count, put, NULL},
      {asked->numbers[0], 8, 1000, count, NULL, got},
  };
  int32_t status = orchid_leased_run(call, memory, steps, 2);
  if (status != ORCHID_OK) return status;
  /* The last one by itself. */
  unsigned char last[8];
  status = orchid_leased_get(call, memory, asked->numbers[0] + (count - 1) * 1000, last, 8);
  if (status != ORCHID_OK) return status;
  if (memcmp(last, put + (count - 1) * 8, 8) != 0) return say(call, "different");
  return say_same(call, got, count * 8, asked->numbers[2]);
}

static int32_t wait_later(orchid_call* call, uint32_t memory, const words* asked) {
  const uint64_t size = asked->numbers[1];
  unsigned char* put = malloc(size);
  unsigned char* got = malloc(size);
  uint64_t putting = 0;
  uint64_t getting = 0;
  if (put == NULL || got == NULL) return ORCHID_ERROR;
  for (uint64_t i = 0; i < size; ++i) put[i] = byte_of(i, asked->numbers[2]);
  const orchid_leased_step puts = {
      .offset = asked->numbers[0], .row = size, .count = 1, .put = put};
  const orchid_leased_step gets = {
      .offset = asked->numbers[0], .row = size, .count = 1, .get = got};
  int32_t status = orchid_leased_start(call, memory, &puts, 1, &putting);
  if (status == ORCHID_OK) status = orchid_leased_start(call, memory, &gets, 1, &getting);
  memset(put, 0, size); /* it has gone */
  if (status == ORCHID_OK) status = orchid_leased_wait(call, memory, getting);
  if (status == ORCHID_OK) status = orchid_leased_wait(call, memory, putting);
  if (status == ORCHID_OK && orchid_leased_wait(call, memory, getting + 1) == ORCHID_OK)
    return say(call, "a ticket that nobody gave is waited for");
  return status == ORCHID_OK ? say_same(call, got, size, asked->numbers[2]) : status;
}

static int32_t go_on(orchid_call* call, uint32_t memory, const words* asked) {
  const int adds = strcmp(asked->act, "add_for_ever") == 0;
  uint64_t value = 0;
  int32_t status = ORCHID_OK;
  while (status == ORCHID_OK && !orchid_should_stop(call)) {
    status = adds ? orchid_leased_fetch_add(call, memory, asked->numbers[0], 1, &value)
                  : orchid_leased_get(call, memory, asked->numbers[0], &value, sizeof value);
    orchid_progress(call, 0.5);
  }
  return status;
}

static int32_t go_on_again(orchid_call* call, uint32_t memory, const words* asked) {
  uint64_t size = 0;
  uint64_t value = 0;
  int32_t status = go_on(call, memory, asked);
  if (status == ORCHID_MEMORY_LOST) status = orchid_leased_open(call, asked->lease, &memory, &size);
  if (status == ORCHID_OK)
    status = orchid_leased_get(call, memory, asked->numbers[0], &value, sizeof value);
  return status == ORCHID_OK ? say(call, "again") : status;
}

static int32_t change(orchid_call* call, uint32_t memory, const words* asked) {
  uint64_t before = 0;
  const int adds = strcmp(asked->act, "add") == 0;
  const int32_t status =
      adds ? orchid_leased_fetch_add(call, memory, asked->numbers[0], asked->numbers[1], &before)
           : orchid_leased_compare_swap(call, memory, asked->numbers[0], asked->numbers[1],
                                        asked->numbers[2], &before);
  return status == ORCHID_OK ? say_number(call, before) : status;
}

static int32_t perform(orchid_call* call, uint32_t memory, uint64_t size, const words* asked) {
  const char* act = asked->act;
  if (strcmp(act, "put") == 0 || strcmp(act, "compare") == 0) return move(call, memory, asked);
  if (strcmp(act, "both") == 0) return move_both(call, memory, asked);
  if (strcmp(act, "batch") == 0) return go_together(call, memory, asked);
  if (strcmp(act, "column") == 0) return go_in_rows(call, memory, asked);
  if (strcmp(act, "later") == 0) return wait_later(call, memory, asked);
  if (strcmp(act, "add") == 0 || strcmp(act, "swap") == 0) return change(call, memory, asked);
  if (strcmp(act, "again") == 0) return go_on_again(call, memory, asked);
  if (strcmp(act, "fence") != 0) return go_on(call, memory, asked);
  const int32_t status = orchid_leased_fence(call, memory);
  return status == ORCHID_OK ? say_number(call, size) : status;
}

ORCHID_ENTRY(uses_memory) {
  char text[256] = {0};
  words asked = {{0}, {0}, {0}};
  memcpy(text, input, input_size < sizeof text - 1 ? input_size : sizeof text - 1);
  if (sscanf(text, "%63s %15s %" SCNu64 " %" SCNu64 " %" SCNu64, asked.lease, asked.act,
             &asked.numbers[0], &asked.numbers[1], &asked.numbers[2]) < 2)
    return ORCHID_BAD_ARGUMENTS;
  uint32_t memory = 0;
  uint64_t size = 0;
  const int32_t status = orchid_leased_open(call, asked.lease, &memory, &size);
  if (status != ORCHID_OK) return status;
  return perform(call, memory, size, &asked);
}
