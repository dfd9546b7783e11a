// Expected: limit_exceeded: it starts threads that never end, until it is stopped.
#include <limits.h>
#include <pthread.h>

#include "orchid/function.h"

// They wait for ever: if they ran, each turn of the one that makes them would come later.
ORCHID_ENTRY(bombs_threads) {
  (void)call, (void)input, (void)input_size;
  static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&never);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  for (;;) {
    pthread_t thread;
    pthread_create(
        &thread, &small,
        [](void*) -> void* {
          pthread_mutex_lock(&never);
          return nullptr;
        },
        nullptr);
  }
}
