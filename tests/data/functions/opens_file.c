/* Expected: ok, output is errno's text for the attempt to read the file that the input names
 * (default /etc/passwd), such as "Permission denied"; "opened" means that the sandbox has a hole.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(opens_file) {
  char path[256] = "/etc/passwd";
  if (input_size > 0 && input_size < sizeof path) {
    memcpy(path, input, input_size);
    path[input_size] = 0;
  }
  FILE* file = fopen(path, "r");
  const char* text = file != NULL ? "opened" : strerror(errno);
  if (file != NULL) fclose(file);
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}
