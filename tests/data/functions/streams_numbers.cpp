/* Expected: for the input "COUNT SIZE", COUNT chunks of SIZE bytes, each full of its number's last
 * byte, and nothing with the reply; without a stream, all of them in one. "stopped" when it is
 * stopped before the end. */
#include <charconv>
#include <vector>

#include "orchid/function.hpp"

ORCHID_ENTRY(streams_numbers) {
  const std::string_view text(static_cast<const char*>(input), input_size);
  std::size_t count = 0;
  std::size_t size = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, count);
  if (first.ptr == end || std::from_chars(first.ptr + 1, end, size).ptr != end)
    return ORCHID_BAD_ARGUMENTS;
  orchid::Chunks chunks(call, input, input_size);
  for (std::size_t i = 0; i < count; ++i) {
    if (!chunks.emit(std::vector<std::byte>(size, static_cast<std::byte>(i)))) return ORCHID_ERROR;
    if (!chunks.flush()) return chunks.emit("stopped") ? ORCHID_OK : ORCHID_ERROR;
  }
  return ORCHID_OK;
}
