/* Expected: each chunk comes back. After the stream a thread is left running, so that the worker
 * is replaced. The chunk "forges" does not come back: the function says that its worker runs no
 * call, and ends the process. */
#include <unistd.h>

#include <string_view>
#include <thread>

#include "orchid/function.hpp"
#include "raw_call.h"

namespace {

/* orchid_call begins with the lane and then the page, and that with the state. */
struct WorkerCall {
  void* lane;
  unsigned char* page;
};

void forge_idleness(orchid_call* call) {
  reinterpret_cast<WorkerCall*>(call)->page[0] &= 0xfc;
  const long status[6] = {};
#if defined(__x86_64__)
  raw_call(231, status);
#else
  raw_call(94, status);
#endif
}

}  // namespace

ORCHID_ENTRY(streams_badly) {
  orchid::Chunks chunks(call, input, input_size);
  for (const std::span<const std::byte> chunk : chunks) {
    if (std::string_view(reinterpret_cast<const char*>(chunk.data()), chunk.size()) == "forges")
      forge_idleness(call);
    if (!chunks.emit(chunk)) return ORCHID_ERROR;
  }
  std::thread([] {
    for (;;) {
      ::pause();
    }
  }).detach();
  return ORCHID_OK;
}
