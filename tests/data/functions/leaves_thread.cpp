// Expected: the sandbox refuses to start a thread: function_error with the text of
// std::system_error, or a rejection at deploy where the symbols are not provided. No thread is left
// over, and the next call works.
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
