// Ends the thread of the call as a thread is ended properly.
#include <pthread.h>

#include "../act.h"

ACT(ends_thread) {
  pthread_exit(nullptr);
  return say(call, "odd");
}
