// calls/repeated_calls.h: the same call many times, some at once.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "calls/call_statistics.h"
#include "orchid/client.h"

namespace orchid::cli {

struct RepeatOptions {
  std::string function;
  std::size_t count = 1;
  std::size_t concurrency = 1;
  InvokeOptions call;
};

struct RepeatResult {
  CallStatistics statistics;
  std::optional<Reply> first;  // the first that went well
  std::optional<Error> first_failure;
};

/// Runs `concurrency` threads until `count` calls are made. A failure that every call would meet
/// (no gateway, no such function, not allowed) ends it early; others are counted.
[[nodiscard]] RepeatResult repeat_call(Client& client, std::span<const std::byte> input,
                                       const RepeatOptions& options);

}  // namespace orchid::cli
