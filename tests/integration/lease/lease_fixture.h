// lease/lease_fixture.h: an executor and a lease of some of its workers for each test case.
#pragma once
#include <doctest/doctest.h>

#include <string>

#include "clear_error.h"
#include "lane_under_test.h"
#include "local_lease.h"

namespace orchid::tests {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline std::filesystem::path test_function(const std::string& name) {
  return std::filesystem::path(FUNCTIONS) / (name + ".bc");
}
inline std::filesystem::path example(const std::string& name) {
  return std::filesystem::path(EXAMPLES) / (name + ".bc");
}

[[nodiscard]] inline LocalExecutor::Options executor_options() {
  return {.programs = PROGRAMS, .spare = 3, .remote = lane_under_test() == LaneKind::ucx};
}
[[nodiscard]] inline LeaseOptions over_lane_under_test(LeaseOptions options) {
  options.lane = lane_under_test() == LaneKind::ucx ? "ucx" : "auto";
  return options;
}

struct LeaseFixture {
  LocalExecutor executor{executor_options()};
  std::shared_ptr<ExecutorSource> source = std::make_shared<ExecutorSource>(executor);
  Lease lease = take_lease(source, over_lane_under_test({.workers = 1}));

  void take(const LeaseOptions& options) {
    lease = take_lease(source, over_lane_under_test(options));
  }
  LeasedFunction load(const std::filesystem::path& module) {
    return lease.module(module_bytes(module)).function();
  }
  LeasedFunction load(const char* name) { return load(test_function(name)); }
};

/// Waits for `condition`, but for no longer than `patience`.
template <typename Condition>
bool eventually(Condition condition, seconds patience = seconds(10)) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace orchid::tests
