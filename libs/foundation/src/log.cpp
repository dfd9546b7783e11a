#include "foundation/log.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

namespace orchid::log {
namespace {
struct Settings {
  std::string program = "orchid";
  LogLevel lowest = LogLevel::info;
};
// Written once by configure() before the first thread starts, read-only from then on.
Settings settings;

/// U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069, in UTF-8.
bool turns_text(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return false;
  const auto second = static_cast<unsigned char>(text[1]);
  const auto third = static_cast<unsigned char>(text[2]);
  return (second == 0x80 && (third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae))) ||
         (second == 0x81 && third >= 0xa6 && third <= 0xa9);
}

/// Events quote what user code says, and a terminal may show the log: control characters, and those
/// that change a text's direction, are written as \xNN.
std::string made_plain(std::string_view event) {
  std::string text;
  text.reserve(event.size());
  const auto escape = [&](std::string_view bytes) {
    for (const char byte : bytes)
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  };
  for (std::size_t at = 0; at < event.size();) {
    const std::string_view rest = event.substr(at);
    const auto byte = static_cast<unsigned char>(rest.front());
    std::size_t size = 1;
    if (byte < 0x20 || byte == 0x7f) {
      escape(rest.substr(0, 1));
    } else if (rest.starts_with("\xc2") && rest.size() > 1 &&
               static_cast<unsigned char>(rest[1]) < 0xa0) {
      escape(rest.substr(0, size = 2));  // U+0080 to U+009F
    } else if (turns_text(rest)) {
      escape(rest.substr(0, size = 3));
    } else {
      text += rest.front();
    }
    at += size;
  }
  return text;
}
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
  const std::string line = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z {} {}[{}] {}\n",
                                       fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                                       millis, names[static_cast<std::size_t>(level)],
                                       settings.program, ::getpid(), made_plain(event));
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace orchid::log
