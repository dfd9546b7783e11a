/* Expected: ok, the output is "5 ok". Also built as position independent code of each kind:
 * through_got_pic, _pie, _no_plt. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchid/function.h"

/* Another module could have it instead: code that is position independent finds it through a table
 * of addresses (GOT). */
__attribute__((weak)) int counted = 4;

ORCHID_ENTRY(through_got) {
  (void)input;
  (void)input_size;
  /* Functions and data of the host, by their addresses. */
  void* (*volatile allocate)(size_t) = malloc;
  FILE* volatile stream = stderr;
  char* text = allocate(32);
  if (text == NULL) return ORCHID_ERROR;
  snprintf(text, 32, "%d %s", ++counted, stream == stderr && stream != stdout ? "ok" : "wrong");
  void* output = orchid_output(call, strlen(text));
  if (output != NULL) memcpy(output, text, strlen(text));
  free(text);
  return output == NULL ? ORCHID_ERROR : ORCHID_OK;
}
