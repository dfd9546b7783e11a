#include "protocol/outcome.h"

#include <array>

namespace orchid {
namespace {
constexpr std::array<std::string_view, outcome_count> names{"ok",
                                                            "function_error",
                                                            "function_crashed",
                                                            "function_exited",
                                                            "limit_exceeded",
                                                            "deadline_exceeded",
                                                            "cancelled",
                                                            "evicted",
                                                            "worker_lost",
                                                            "no_capacity",
                                                            "bad_request",
                                                            "denied"};
}  // namespace

std::string_view to_string(Outcome outcome) { return names[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> parse_outcome(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<Outcome>(i);
  return std::nullopt;
}

bool is_retryable(Outcome outcome) {
  return outcome == Outcome::evicted || outcome == Outcome::worker_lost;
}

}  // namespace orchid
