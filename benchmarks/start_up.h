// benchmarks/start_up.h: waits for what a benchmark needs before it begins to measure.
#pragma once
#include <chrono>
#include <string>
#include <thread>

#include "foundation/result.h"

namespace orchid::bench {

/// Errors: `timed_out`, after 30 s, naming `what`.
template <typename Condition>
[[nodiscard]] Result<void> wait_until(const std::string& what, Condition condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up)
      return fail(ErrorCode::timed_out, "for 30 s this has not come true: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {};
}

}  // namespace orchid::bench
