/* Expected: ok for the input "sum": the output is "COUNT BYTES SUM" of all data objects that the
 * call was given. "write": function_crashed. "beyond": function_error, an object that is not there
 * was asked for. "unmap", "cover" and "unlock": ok, and the worker goes: they unmap the first
 * object, map something else in its place, and write to a private copy of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "compute_for.h"
#include "orchid/function.h"
#include "raw_call.h"

static int32_t sum_all(orchid_call* call) {
  uint64_t all = 0;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < orchid_data_count(call); ++i) {
    const void* bytes = NULL;
    uint64_t size = 0;
    if (orchid_data(call, i, &bytes, &size) != ORCHID_OK) return ORCHID_ERROR;
    for (uint64_t k = 0; k < size; ++k) sum += ((const unsigned char*)bytes)[k];
    all += size;
  }
  char text[80];
  const int size = snprintf(text, sizeof text, "%" PRIu32 " %" PRIu64 " %" PRIu64,
                            orchid_data_count(call), all, sum);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}

static int is(const char* act, size_t size, const char* name) {
  return size == strlen(name) && memcmp(act, name, size) == 0;
}

ORCHID_ENTRY(uses_data) {
  const char* act = input;
  const void* bytes = NULL;
  uint64_t size = 0;
  if (is(act, input_size, "sum")) return sum_all(call);
  if (is(act, input_size, "beyond"))
    return orchid_data(call, orchid_data_count(call), &bytes, &size);
  if (orchid_data(call, 0, &bytes, &size) != ORCHID_OK) return ORCHID_ERROR;
  volatile unsigned char* first = (volatile unsigned char*)bytes;
  if (is(act, input_size, "write")) {
    *first = 1;
  } else if (is(act, input_size, "unmap")) {
    const long unmap[6] = {(long)bytes, (long)size};
    raw_call(SYS_munmap, unmap);
  } else if (is(act, input_size, "cover")) {
    const long map[6] = {
        (long)bytes, (long)size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0};
    raw_call(SYS_mmap, map);
  } else {
    const long unlock[6] = {(long)bytes, (long)size, PROT_READ | PROT_WRITE};
    if (raw_call(SYS_mprotect, unlock) == 0) *first = 1;
  }
  compute_for(20); /* so long that the worker looks at its mappings afterwards */
  return ORCHID_OK;
}
