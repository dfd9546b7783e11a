// Expected: limit_exceeded or deadline_exceeded, no sooner: as many threads as the input says in
// decimal compute until the call is ended.
#include <pthread.h>

#include <cstdlib>
#include <string>

#include "orchid/function.h"

ORCHID_ENTRY(spins_in_threads) {
  const std::string number(static_cast<const char*>(input), input_size);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  for (int left = std::atoi(number.c_str()); left > 0; --left) {
    pthread_t thread;
    pthread_create(
        &thread, &small,
        [](void*) -> void* {
          for (;;) asm volatile("");
        },
        nullptr);
  }
  orchid_progress(call, 1);
  for (;;) asm volatile("");
}
