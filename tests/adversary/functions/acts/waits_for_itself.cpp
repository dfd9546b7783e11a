// Waits for a thread that waits for it.
#include <mutex>
#include <thread>

#include "../act.h"

ACT(waits_for_itself) {
  static std::mutex held;
  held.lock();
  std::thread([] { held.lock(); }).join();
  return say(call, "odd");
}
