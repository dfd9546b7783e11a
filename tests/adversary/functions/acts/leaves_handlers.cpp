// Leaves handlers of the C++ library that never return.
#include <exception>
#include <new>

#include "../act.h"

ACT(leaves_handlers) {
  std::set_new_handler([] { spin_for_ever(); });
  std::set_terminate([] { spin_for_ever(); });
  return say(call, "done");
}
