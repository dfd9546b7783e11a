// Leaves a thread that computes for ever.
#include <thread>

#include "../act.h"

ACT(leaves_thread) {
  std::thread([] { spin_for_ever(); }).detach();
  return say(call, "done");
}
