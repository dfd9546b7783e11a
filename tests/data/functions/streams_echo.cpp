/* Expected: each chunk of input comes back as a chunk of output; without a stream, an echo. */
#include "orchid/function.hpp"

ORCHID_ENTRY(streams_echo) {
  orchid::Chunks chunks(call, input, input_size);
  for (const std::span<const std::byte> chunk : chunks)
    if (!chunks.emit(chunk)) return ORCHID_ERROR;
  return ORCHID_OK;
}
