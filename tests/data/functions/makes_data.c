/* Opens and makes data objects as its input says: words, with blanks between them.
 *
 *   make NAME MOST USED: a room of MOST bytes, of which USED are sealed as NAME ("-": no name). The
 *     output is the id. Byte i is i % 251; the room has to be zero before.
 *   fail, crash, exit …: the same, and then the call does not succeed
 *   open NAME: "BYTES SUM"
 *   spoil NAME: writes to it
 *   often NAME COUNT: opened so often: "OPENED STATUS", the status of the last one
 *   many COUNT: so many rooms of one byte, sealed without a name: "SEALED STATUS"
 *   twice MOST: sealed twice
 *   forget MOST: written to, and not sealed
 *   alias MOST: mapped twice when it is sealed
 *   slow MOST: made, then it waits until it is asked to stop, and succeeds
 *
 * A status that is not ORCHID_OK is returned, unless it is in the output. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "orchid/function.h"
#include "raw_call.h"

static int32_t say(orchid_call* call, const char* text) {
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}

static int32_t fill(orchid_call* call, uint64_t most, unsigned char** room) {
  void* made = NULL;
  const int32_t status = orchid_data_create(call, most, &made);
  *room = made;
  for (uint64_t i = 0; status == ORCHID_OK && i < most; ++i) {
    if ((*room)[i] != 0) abort();
    (*room)[i] = (unsigned char)(i % 251);
  }
  return status;
}

static int32_t make(orchid_call* call, const char* name, uint64_t most, uint64_t used) {
  unsigned char* room = NULL;
  int32_t status = fill(call, most, &room);
  char id[ORCHID_DATA_ID_SIZE];
  if (status == ORCHID_OK)
    status = orchid_data_seal(call, room, used, strcmp(name, "-") == 0 ? NULL : name, id);
  return status == ORCHID_OK ? say(call, id) : status;
}

static int32_t open_one(orchid_call* call, const char* name) {
  const void* bytes = NULL;
  uint64_t size = 0;
  const int32_t status = orchid_data_open(call, name, &bytes, &size);
  if (status != ORCHID_OK) return status;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < size; ++i) sum += ((const unsigned char*)bytes)[i];
  char text[64];
  snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, size, sum);
  return say(call, text);
}

static int32_t spoil(orchid_call* call, const char* name) {
  const void* bytes = NULL;
  uint64_t size = 0;
  const int32_t status = orchid_data_open(call, name, &bytes, &size);
  if (status == ORCHID_OK) *(volatile unsigned char*)bytes = 7;
  return status;
}

static int32_t say_count(orchid_call* call, uint64_t count, int32_t status) {
  char text[64];
  snprintf(text, sizeof text, "%" PRIu64 " %" PRId32, count, status);
  return say(call, text);
}

static int32_t open_often(orchid_call* call, const char* name, uint64_t count) {
  const void* bytes = NULL;
  uint64_t size = 0;
  int32_t status = ORCHID_OK;
  uint64_t opened = 0;
  for (uint64_t i = 0; i < count; ++i) {
    status = orchid_data_open(call, name, &bytes, &size);
    if (status == ORCHID_OK) ++opened;
  }
  return say_count(call, opened, status);
}

static int32_t make_many(orchid_call* call, uint64_t count) {
  int32_t status = ORCHID_OK;
  uint64_t made = 0;
  for (; made < count && status == ORCHID_OK; ++made) {
    unsigned char* room = NULL;
    status = fill(call, 1, &room);
    if (status == ORCHID_OK) status = orchid_data_seal(call, room, 1, NULL, NULL);
    if (status != ORCHID_OK) break;
  }
  return say_count(call, made, status);
}

static int32_t misuse(orchid_call* call, const char* act, uint64_t most) {
  unsigned char* room = NULL;
  int32_t status = fill(call, most, &room);
  if (status != ORCHID_OK || strcmp(act, "forget") == 0) return status;
  if (strcmp(act, "alias") == 0) {
    /* Of a shared mapping, of which nothing is moved, this makes another one. */
    const long again[6] = {(long)room, 0, (long)most, MREMAP_MAYMOVE};
    if (raw_call(SYS_mremap, again) < 0) return ORCHID_ERROR;
  }
  if (strcmp(act, "slow") == 0)
    while (!orchid_should_stop(call)) {
    }
  status = orchid_data_seal(call, room, most, "misused", NULL);
  if (status == ORCHID_OK && strcmp(act, "twice") == 0)
    status = orchid_data_seal(call, room, most, "misused", NULL);
  return status;
}

ORCHID_ENTRY(makes_data) {
  char words[256] = {0};
  char act[16];
  char name[128];
  uint64_t first = 0;
  uint64_t second = 0;
  memcpy(words, input, input_size < sizeof words - 1 ? input_size : sizeof words - 1);
  if (sscanf(words, "open %127s", name) == 1) return open_one(call, name);
  if (sscanf(words, "spoil %127s", name) == 1) return spoil(call, name);
  if (sscanf(words, "often %127s %" SCNu64, name, &first) == 2)
    return open_often(call, name, first);
  if (sscanf(words, "many %" SCNu64, &first) == 1) return make_many(call, first);
  if (sscanf(words, "%15s %127s %" SCNu64 " %" SCNu64, act, name, &first, &second) == 4) {
    const int32_t status = make(call, name, first, second);
    if (status != ORCHID_OK || strcmp(act, "make") == 0) return status;
    if (strcmp(act, "crash") == 0) abort();
    if (strcmp(act, "exit") == 0) exit(3);
    orchid_error(call, "it fails", 8);
    return ORCHID_ERROR;
  }
  if (sscanf(words, "%15s %" SCNu64, act, &first) == 2) return misuse(call, act, first);
  return ORCHID_BAD_ARGUMENTS;
}
