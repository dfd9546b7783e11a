// Cancels the thread of the call.
#include <pthread.h>

#include "../act.h"

ACT(cancels_itself) {
  pthread_cancel(pthread_self());
  pthread_testcancel();
  return say(call, "odd");
}
