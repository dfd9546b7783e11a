/* Makes threads until it is stopped, with stacks that are too small for the limit of memory to come
 * first. */
#include <pthread.h>

#include "../act.h"

static void* wait_for_ever(void* nothing) {
  (void)nothing;
  for (;;) raw_call(SYS_ppoll, 0, 0, 0, 0, 0, 0);
  return NULL;
}

ACT(bombs_threads) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1 << 16);
  pthread_t thread;
  while (pthread_create(&thread, &attributes, wait_for_ever, NULL) == 0) continue;
  spin_for_ever();
  return ORCHID_OK;
}
