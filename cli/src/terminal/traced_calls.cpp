#include "terminal/traced_calls.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "terminal/answers.h"
#include "terminal/duration.h"

namespace orchid::cli {
namespace {

/// Of a longer path the beginning and the end are shown.
constexpr std::size_t shown_at_each_end = 16;

std::string microseconds(std::int64_t nanoseconds) {
  return std::to_string(nanoseconds / 1000) + " us";
}

std::string head_of(const JsonObject& call) {
  const std::string outcome = call.text("outcome");
  const std::string message = call.text("message");
  std::string text =
      call.text("function") + " at member " + std::to_string(call.number<std::uint32_t>("member")) +
      ", " + microseconds(call.number<std::int64_t>("took_ns")) + ", " +
      format_duration(std::chrono::milliseconds(call.number<std::int64_t>("age_ms"))) +
      " ago: " + outcome;
  if (!message.empty()) text += ": " + message;
  return text + "\n";
}

std::string path_of(const JsonObject& call) {
  const std::size_t steps = call.size("path");
  std::string text;
  std::size_t number = 0;
  for (const JsonObject& step : call.objects("path")) {
    ++number;
    const std::string shown = std::to_string(step.number<std::uint32_t>("member")) + " " +
                              step.text("entry") + " " +
                              microseconds(step.number<std::int64_t>("run_ns"));
    if (number > shown_at_each_end && number + shown_at_each_end <= steps) {
      if (number == shown_at_each_end + 1)
        text += " > (" + std::to_string(steps - 2 * shown_at_each_end) + " more)";
      continue;
    }
    text += (text.empty() ? "" : " > ") + shown;
  }
  return "  path: " + (text.empty() ? "not known" : text) + "\n";
}

}  // namespace

std::string paths_text(const std::string& text) {
  const Answer answer(text);
  std::string shown;
  for (const JsonObject& call : answer.root().objects("calls"))
    shown += head_of(call) + path_of(call);
  answer.check();
  return shown;
}

std::string logs_text(const std::string& text) {
  const Answer answer(text);
  std::string shown;
  for (const JsonObject& call : answer.root().objects("calls"))
    shown += head_of(call) + call.text("log");
  answer.check();
  return shown;
}

}  // namespace orchid::cli
