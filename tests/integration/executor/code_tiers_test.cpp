// Quick code first, the best code behind it: results and state do not show when it changes.
#include <signal.h>

#include <cstring>
#include <vector>

#include "executor_fixture.h"

namespace orchid::tests {

using namespace std::chrono_literals;

namespace {

std::string bytes_of(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

/// Many options, as functions/blackscholes takes them.
std::string options_input() {
  constexpr std::uint64_t count = 500;
  std::string input(sizeof(count), '\0');
  std::memcpy(input.data(), &count, sizeof(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(i);
    input += bytes_of({50 + x / 7, 60 + x / 9, 0.01 + x / 9000, 0.1 + x / 1100, 0.2 + x / 300});
    const std::int32_t kind[2] = {static_cast<std::int32_t>(i % 2), 0};
    input.append(reinterpret_cast<const char*>(kind), sizeof(kind));
  }
  return input;
}

struct TiersFixture : ExecutorFixture {
  /// So the best code cannot be there before the first call.
  LaneSlot load_quick(const std::filesystem::path& module) {
    const pid_t improver = executor.improver();
    REQUIRE(improver > 0);
    ::kill(improver, SIGKILL);
    return worker.load(module);
  }
  /// Calls until the best code runs; each answer must be the first one's.
  WorkerClient::Reply call_until_improved(const LaneSlot& slot, std::string_view input,
                                          const std::string& output) {
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (true) {
      auto reply = worker.call(slot, input);
      REQUIRE(reply.outcome == Outcome::ok);
      REQUIRE(reply.output == output);
      if (!reply.quick_code) return reply;
      REQUIRE(std::chrono::steady_clock::now() < give_up);
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(
    TiersFixture,
    "a module that nobody has seen runs quick code, then the best, in the same slot") {
  const LaneSlot slot = load_quick(test_function("scales_vector"));
  const std::string input = bytes_of({1, 2, 3, 0.1, 5e300, 6, 7, 8, 9});
  const auto first = worker.call(slot, input);
  CHECK(first.outcome == Outcome::ok);
  CHECK(first.quick_code);
  (void)call_until_improved(slot, input, first.output);
  // Whoever comes later gets it at once.
  WorkerClient other(executor, lane_under_test());
  const auto later = other.call(other.load(test_function("scales_vector")), input);
  CHECK(later.output == first.output);
  CHECK_FALSE(later.quick_code);
}

TEST_CASE_FIXTURE(TiersFixture, "both tiers compute the same bits") {
  const LaneSlot slot = load_quick(std::filesystem::path(EXAMPLES) / "blackscholes.bc");
  const std::string input = options_input();
  const auto first = worker.call(slot, input);
  REQUIRE(first.outcome == Outcome::ok);
  CHECK(first.quick_code);
  CHECK(first.output.size() > 4000);
  (void)call_until_improved(slot, input, first.output);
}

TEST_CASE_FIXTURE(TiersFixture, "several modules improve in one worker, each in its slot") {
  const LaneSlot scales = load_quick(test_function("scales_vector"));
  const LaneSlot two = worker.load(test_function("two_entries"));
  const std::string input = bytes_of({1, 2});
  const std::string scaled = worker.call(scales, input).output;
  const std::string entries[] = {worker.call(two, "x", 10s, 0).output,
                                 worker.call(two, "x", 10s, 1).output};
  (void)call_until_improved(scales, input, scaled);
  (void)call_until_improved(two, "x", entries[0]);
  CHECK(worker.call(two, "x", 10s, 1).output == entries[1]);
}

TEST_CASE_FIXTURE(TiersFixture,
                  "a module with state has its best code at once, and keeps its state") {
  const LaneSlot slot = load_quick(test_function("counts_calls"));
  for (int i = 1; i <= 300; ++i) {
    const auto reply = worker.call(slot, "");
    REQUIRE(reply.output == std::to_string(i));
    REQUIRE_FALSE(reply.quick_code);
  }
}

TEST_CASE_FIXTURE(TiersFixture, "a worker that dies before its code is better is no problem") {
  const LaneSlot slot = load_quick(test_function("scales_vector"));
  const std::string input = bytes_of({1, 2, 3});
  const auto first = worker.call(slot, input);
  REQUIRE(first.quick_code);
  ::kill(worker.pid(), SIGKILL);
  REQUIRE(std::holds_alternative<LaneEnded>(worker.receive()));
  REQUIRE(std::holds_alternative<LaneClaimed>(worker.receive()));
  const LaneSlot again = worker.load(test_function("scales_vector"));
  (void)call_until_improved(again, input, first.output);
}

}  // namespace orchid::tests
