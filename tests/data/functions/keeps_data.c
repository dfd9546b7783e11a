/* Opens the data object with the name that is its input, over the worker's service socket
 * (descriptor 10) as a worker does it, and keeps the descriptor. The output says how many bytes it
 * has. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"
#include "service_socket.h"

ORCHID_ENTRY(keeps_data) {
  struct request wanted = {.ask = open_data};
  if (input_size > sizeof wanted.name) return ORCHID_BAD_ARGUMENTS;
  memcpy(wanted.name, input, input_size);
  wanted.name_bytes = (uint16_t)input_size;
  struct answer given;
  if (ask(wanted, &given) < 0 || given.verdict != done) return ORCHID_BAD_ARGUMENTS;
  char text[32];
  const int size = snprintf(text, sizeof text, "%lu", (unsigned long)given.bytes);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
