// foundation/log.h: one line per event, `key=value`, on standard error.
#pragma once
#include <fmt/format.h>

#include <string_view>

namespace orchid {

/// error: a person must act. warn: degraded. info: state changes. debug: for developers.
enum class LogLevel { debug, info, warn, error };

namespace log {

/// Once, at the start of main: the program's name opens each line.
void configure(std::string_view program, LogLevel lowest);

/// Any thread; one write(2) per line, so lines of several processes do not mix.
void write(LogLevel level, std::string_view event);

template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(LogLevel::warn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace log
}  // namespace orchid
