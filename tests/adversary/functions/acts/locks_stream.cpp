// A thread of it ends with the standard output locked: whoever writes there waits for ever.
#include <cstdio>
#include <thread>

#include "../act.h"

ACT(locks_stream) {
  std::thread([] { flockfile(stdout); }).join();
  return say(call, "done");
}
