// Expected: limit_exceeded: it starts threads that never end, until it is stopped.
#include <limits.h>
#include <pthread.h>

#include "orchid/function.h"

ORCHID_ENTRY(bombs_threads) {
  (void)call, (void)input, (void)input_size;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  for (;;) {
    pthread_t thread;
    pthread_create(
        &thread, &small,
        [](void*) -> void* {
          for (;;) asm volatile("");
        },
        nullptr);
  }
}
