/* Expected: the signal whose number is the input ends it as function_crashed; those that would hide
 * who sent them are refused: output "refused". */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchid/function.h"

ORCHID_ENTRY(signals_itself) {
  char text[8] = {0};
  memcpy(text, input, input_size < sizeof text ? input_size : sizeof text - 1);
  const int number = atoi(text);
  const char* answer = kill(getpid(), number) != 0 && raise(number) != 0 ? "refused" : "sent";
  void* output = orchid_output(call, strlen(answer));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, answer, strlen(answer));
  return ORCHID_OK;
}
