#include "crew/call_trace.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "foundation/json_document.h"
#include "foundation/numbers.h"
#include "protocol/crew.h"
#include "protocol/names.h"

namespace orchid::sdk {
namespace {

using nlohmann::json;

std::string_view take_word(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
  return word;
}

/// Functions may write such lines as well, and others are cut where the log ends.
std::optional<CallStep> read_step(std::string_view line) {
  const auto member = parse_number<unsigned>(take_word(line));
  const std::string_view entry = take_word(line);
  const auto nanoseconds = parse_number<std::uint64_t>(line);
  if (!member || *member > crew::most_members || !nanoseconds ||
      *nanoseconds > static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count()) ||
      !is_entry_name(entry))
    return std::nullopt;
  return CallStep{.member = *member,
                  .entry = std::string(entry),
                  .run = std::chrono::nanoseconds(*nanoseconds)};
}

}  // namespace

Trace split_trace(std::string_view log) {
  Trace trace;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    const std::string_view line = log.substr(0, end);
    log = end == std::string_view::npos ? std::string_view() : log.substr(end + 1);
    const bool is_whole = end != std::string_view::npos;
    std::optional<CallStep> step;
    if (is_whole && line.starts_with(crew::step_mark)) step = read_step(line.substr(1));
    if (step) {
      trace.log += "[member " + std::to_string(step->member) + ": " + step->entry + ", " +
                   std::to_string(step->run / std::chrono::microseconds(1)) + " us]\n";
      trace.path.push_back(std::move(*step));
    } else {
      trace.log += line;
      if (is_whole) trace.log += '\n';
    }
  }
  return trace;
}

std::string calls_document(const std::vector<TracedCall>& calls) {
  json list = json::array();
  for (const TracedCall& call : calls) {
    json path = json::array();
    for (const CallStep& step : call.trace.path)
      path.push_back(
          {{"member", step.member}, {"entry", step.entry}, {"run_ns", step.run.count()}});
    list.push_back({{"function", call.function},
                    {"member", call.member},
                    {"outcome", call.outcome},
                    {"message", call.message},
                    {"took_ns", call.took.count()},
                    {"path", std::move(path)},
                    {"log", call.trace.log}});
  }
  return dump_json({{"calls", std::move(list)}});
}

}  // namespace orchid::sdk
