// Writes below the stack of a thread of its own.
#include <thread>

#include "../act.h"

ACT(touches_guard_page) {
  std::thread([] {
    volatile char here = 0;
    for (volatile char* at = &here;; at -= 4096) *at = 1;
  }).join();
  return say(call, "odd");
}
