// Ends the thread of the call alone: the process lives on in another one.
#include <thread>

#include "../act.h"

ACT(ends_main_thread) {
  std::thread([] { spin_for_ever(); }).detach();
  raw_call(SYS_exit, 0, 0, 0, 0, 0, 0);
  return ORCHID_OK;
}
