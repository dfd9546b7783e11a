/* functions/hello: greets whoever the input names. */
#include <string.h>

#include "orchid/function.h"

static const char opening[] = "Hello, ";
static const char nobody[] = "world";
static const char ending[] = "!\n";

ORCHID_ENTRY(hello) {
  const char* name = input;
  size_t size = input_size;
  while (size > 0 && name[size - 1] == '\n') --size;
  if (size == 0) {
    name = nobody;
    size = strlen(nobody);
  }
  char* output = orchid_output(call, strlen(opening) + size + strlen(ending));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, opening, strlen(opening));
  memcpy(output + strlen(opening), name, size);
  memcpy(output + strlen(opening) + size, ending, strlen(ending));
  return ORCHID_OK;
}
