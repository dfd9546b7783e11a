// Leaves a thread that goes on writing to the output, and to the lane around it, after the return.
#include <thread>

#include "../act.h"

ACT(writes_after_return) {
  auto* output = static_cast<volatile char*>(orchid_output(call, 1 << 16));
  if (output == nullptr) return ORCHID_ERROR;
  std::thread([output] {
    for (;;)
      for (int i = 0; i < 1 << 17; ++i) output[i] = 'H';
  }).detach();
  return ORCHID_OK;
}
