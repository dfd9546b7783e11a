// executor/executor_fixture.h: an executor and a claimed worker for each test case.
#pragma once
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <variant>

#include "foundation/sockets.h"
#include "lane_under_test.h"

namespace orchid::tests {

inline std::filesystem::path test_function(const std::string& name) {
  return std::filesystem::path(FUNCTIONS) / (name + ".bc");
}

/// Polls `condition` until it holds or 10 s are over.
template <typename Condition>
bool eventually(Condition condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < give_up)
    if (condition()) return true;
  return false;
}

/// The deadline of a function that fills its one core with threads: each turn of the one that makes
/// them comes later, and an emulated core makes few in a turn.
constexpr std::chrono::seconds enough_for_threads{90};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct ExecutorFixture {
  LocalExecutor executor{{.programs = PROGRAMS,
                          .remote = lane_under_test() != LaneKind::local,
                          .trusted_fabric = is_fabric_trusted()}};
  WorkerClient worker{executor, lane_under_test()};

  WorkerClient::Reply call(const std::string& function, std::string_view input = "",
                           std::chrono::milliseconds deadline = std::chrono::seconds(10)) {
    return worker.call(worker.load(test_function(function)), input, deadline);
  }
  /// Whatever the last call did, the next one works.
  void check_next_call() {
    const auto reply = call("counts_calls");
    CHECK(reply.outcome == Outcome::ok);
    CHECK(reply.output == "1");
  }
  /// After an answer the worker goes, for such a reason.
  void check_replaced(const std::string& reason) {
    const auto ended = worker.receive();
    REQUIRE(std::holds_alternative<LaneEnded>(ended));
    CHECK(std::get<LaneEnded>(ended).request == 0);
    const std::string& message = std::get<LaneEnded>(ended).message;
    CHECK_MESSAGE(contains(message, reason), message);
    REQUIRE(std::holds_alternative<LaneClaimed>(worker.receive()));
  }
};

}  // namespace orchid::tests
