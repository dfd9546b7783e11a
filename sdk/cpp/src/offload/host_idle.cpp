#include "offload/host_idle.h"

#include <string_view>
#include <system_error>

#include "foundation/files.h"
#include "foundation/numbers.h"

namespace orchid::sdk {

std::optional<std::chrono::nanoseconds> host_idle_time() {
  const auto content = read_file("/proc/uptime", 1_KiB);
  if (!content) return std::nullopt;
  // "UP IDLE", in seconds; whatever the program's locale is.
  const std::string_view text = as_text(*content);
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto idle = leading_number<double>(text.substr(space + 1));
  if (!idle) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*idle));
}

}  // namespace orchid::sdk
