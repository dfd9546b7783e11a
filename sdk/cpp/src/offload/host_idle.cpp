#include "offload/host_idle.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "foundation/files.h"

namespace orchid::sdk {

std::optional<std::chrono::nanoseconds> host_idle_time() {
  const auto content = read_file("/proc/uptime", 1_KiB);
  if (!content) return std::nullopt;
  // "UP IDLE", in seconds; whatever the program's locale is.
  const std::string_view text = as_text(*content);
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  double idle = 0;
  if (std::from_chars(text.data() + space + 1, text.data() + text.size(), idle).ec != std::errc{})
    return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(idle));
}

}  // namespace orchid::sdk
