// Expected: ok. The thread is left running, so the worker is replaced after its answer, and the
// next call works.
#include <thread>

#include "orchid/function.h"

ORCHID_ENTRY(leaves_thread) {
  (void)call, (void)input, (void)input_size;
  std::thread([] {
    for (;;) {
      asm volatile("");
    }
  }).detach();
  return ORCHID_OK;
}
