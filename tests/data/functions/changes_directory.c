/* Expected: ok, output is the working directory that it found; it leaves another one if it can,
 * which must not reach the next call. */
#include <string.h>
#include <unistd.h>

#include "orchid/function.h"

ORCHID_ENTRY(changes_directory) {
  char path[4096] = "?";
  if (getcwd(path, sizeof path) == NULL) strcpy(path, "unknown");
  const char* target = input_size > 0 ? "/usr" : "/tmp";
  (void)input;
  if (chdir(target) != 0) orchid_log(call, "chdir refused\n", strlen("chdir refused\n"));
  void* output = orchid_output(call, strlen(path));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, path, strlen(path));
  return ORCHID_OK;
}
