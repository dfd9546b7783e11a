/* Expected: ok, output "0 0": how many descriptors openat(O_PATH) gave, and how many files stat
 * saw. Neither reads anything, so Landlock lets both pass. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orchid/function.h"

ORCHID_ENTRY(opens_by_path_flag) {
  (void)input, (void)input_size;
  int opened = 0;
  int seen = 0;
  for (int i = 0; i < 100; ++i)
    if (open("/", O_PATH) >= 0) ++opened;
  struct stat status;
  if (stat("/etc/passwd", &status) == 0) ++seen;
  if (access("/etc/passwd", F_OK) == 0) ++seen;
  char text[32];
  const int size = snprintf(text, sizeof text, "%d %d", opened, seen);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
