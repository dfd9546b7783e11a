// Expected: ok, the output is 48 MiB of 'x'. The thread is left running, so the worker is replaced
// right after its answer, which arrives all the same.
#include <unistd.h>

#include <cstring>
#include <thread>

#include "orchid/function.h"

ORCHID_ENTRY(answers_much_and_leaves_thread) {
  (void)input, (void)input_size;
  constexpr std::size_t size = std::size_t{48} << 20;
  void* output = orchid_output(call, size);
  if (output == nullptr) return ORCHID_ERROR;
  std::memset(output, 'x', size);
  std::thread([] {
    for (;;) {
      ::pause();
    }
  }).detach();
  return ORCHID_OK;
}
