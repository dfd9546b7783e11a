// Has destructors for the end of thread and process that never end.
#include "../act.h"

namespace {

struct NeverEnds {
  ~NeverEnds() { spin_for_ever(); }
  int value = 1;
};

}  // namespace

ACT(registers_destructors) {
  thread_local NeverEnds of_thread;
  static NeverEnds of_process;
  return say(call, of_thread.value + of_process.value == 2 ? "done" : "odd");
}
