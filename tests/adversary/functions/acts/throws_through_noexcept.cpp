// Lets an exception go through a function that promised none.
#include <stdexcept>

#include "../act.h"

[[gnu::noinline]] static void breaks() { throw std::runtime_error("broken promise"); }
[[gnu::noinline]] static void promises() noexcept { breaks(); }

ACT(throws_through_noexcept) {
  promises();
  return say(call, "odd");
}
