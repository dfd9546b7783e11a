// protocol/outcome.h: how an invocation ended. The names are on the wire, in HTTP headers and in
// the CLI's JSON; the numbers are on the lane.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace orchid {

enum class Outcome : std::uint8_t {
  ok = 0,
  function_error = 1,    // the entry returned an error, or an exception escaped from it
  function_crashed = 2,  // a signal
  function_exited = 3,   // it called exit
  limit_exceeded = 4,    // memory, output, logs, processes
  deadline_exceeded = 5,
  cancelled = 6,
  evicted = 7,      // the place was taken back
  worker_lost = 8,  // worker or host gone, not by the function's doing
  no_capacity = 9,
  bad_request = 10,  // the input does not fit the entry
  denied = 11,
};
constexpr std::uint8_t outcome_count = 12;

[[nodiscard]] std::string_view to_string(Outcome outcome);
[[nodiscard]] std::optional<Outcome> parse_outcome(std::string_view name);
/// Whether the platform may run the call again without being asked: evicted and worker_lost.
[[nodiscard]] bool is_retryable(Outcome outcome);

}  // namespace orchid
