/* Two hundred threads compute until they are stopped, with stacks for which there is memory. */
#include <pthread.h>

#include "../act.h"

static void* compute(void* nothing) {
  (void)nothing;
  spin_for_ever();
  return NULL;
}

ACT(busy_threads) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1 << 16);
  pthread_t thread;
  for (int i = 0; i < 200; ++i)
    if (pthread_create(&thread, &attributes, compute, NULL) != 0) return ORCHID_ERROR;
  spin_for_ever();
  return ORCHID_OK;
}
