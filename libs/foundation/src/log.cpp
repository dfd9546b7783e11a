#include "foundation/log.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include "foundation/visible_text.h"

namespace orchid::log {
namespace {
struct Settings {
  std::string program = "orchid";
  LogLevel lowest = LogLevel::info;
};
// Written once by configure() before the first thread starts, read-only from then on.
Settings settings;
}  // namespace

void configure(std::string_view program, LogLevel lowest) {
  settings.program = program;
  settings.lowest = lowest;
}

void write(LogLevel level, std::string_view event) {
  if (level < settings.lowest) return;
  constexpr std::array<std::string_view, 4> names{"debug", "info", "warn", "error"};
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(now);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count();
  // Events quote what user code says, and a terminal may show the log.
  const std::string line =
      fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z {} {}[{}] {}\n",
                  fmt::gmtime(std::chrono::system_clock::to_time_t(now)), millis,
                  names[static_cast<std::size_t>(level)], settings.program, ::getpid(),
                  visible_text(event, LineEnds::shown));
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace orchid::log
