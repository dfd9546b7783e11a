/* Gives the same memory back twice. */
#include <stdlib.h>

#include "../act.h"

ACT(frees_twice) {
  void* volatile block = malloc(5000);
  void* volatile other = malloc(5000);
  free(block);
  free(block);
  free(other);
  return say(call, "odd");
}
