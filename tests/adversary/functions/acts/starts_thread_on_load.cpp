// Its static initialiser starts a thread that computes for ever.
#include <thread>

#include "../act.h"

static const bool started = [] {
  std::thread([] { spin_for_ever(); }).detach();
  return true;
}();

ACT(starts_thread_on_load) { return say(call, started ? "loaded" : "odd"); }
