// Modules that take very long to compile: others' are compiled meanwhile, and what comes to nothing
// is not begun again. And whose compilers see whose modules.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "compile_bomb.h"
#include "executor_fixture.h"
#include "foundation/files.h"
#include "protocol/digest.h"

namespace orchid::tests {

namespace {

/// Announces it, sends it if the executor wants it, and does not wait.
bool announce(WorkerClient& worker, const std::vector<std::byte>& module) {
  const std::string digest = digest_of(module);
  worker.send(LaneAnnounce{digest});
  const LaneMessage answer = worker.receive();
  if (const auto* rejected = std::get_if<LaneRejected>(&answer)) {
    CHECK(rejected->code == ErrorCode::compile_limit);
    return false;
  }
  REQUIRE(std::holds_alternative<LaneNeedCode>(answer));
  const auto file = make_sealed_memory("module", module);
  worker.send(LaneCode{digest}, {file->get()});
  return true;
}

/// Another module is compiled and called within it, on a machine of any speed.
std::chrono::seconds limit_of_bombs() {
  LocalExecutor executor({.programs = PROGRAMS});
  WorkerClient worker(executor);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(worker.call(worker.load(test_function("counts_calls")), "").outcome == Outcome::ok);
  const auto took = std::chrono::steady_clock::now() - start;
  return std::max(std::chrono::seconds(3), std::chrono::ceil<std::chrono::seconds>(4 * took));
}

}  // namespace

TEST_CASE(
    "while a module takes very long to compile others' calls go on; then it is refused for good") {
  const auto bomb = make_compile_bomb();  // first: the executor takes the ends of all children
  const auto limit = limit_of_bombs();
  LocalExecutor executor({.programs = PROGRAMS,
                          .compile_limit = limit,
                          .remote = lane_under_test() != LaneKind::local,
                          .trusted_fabric = is_fabric_trusted()});
  WorkerClient hostile(executor, lane_under_test());
  WorkerClient other(executor, lane_under_test());
  REQUIRE(announce(hostile, bomb));
  REQUIRE(eventually([&] { return executor.late_compiler() > 0; }));
  const auto reply = other.call(other.load(test_function("counts_calls")), "");
  CHECK(reply.output == "1");
  CHECK(executor.late_compiler() > 0);  // that one is still at it
  CHECK(other.compiler_notes() == 1);

  const LaneMessage answer = hostile.receive();
  REQUIRE(std::holds_alternative<LaneRejected>(answer));
  const auto& rejected = std::get<LaneRejected>(answer);
  CHECK(rejected.code == ErrorCode::compile_limit);
  CHECK(contains(rejected.message,
                 "more than " + std::to_string(limit.count()) + " s of processor time"));
  CHECK(
      contains(rejected.message, "(functions: 1, branches: 3000, at most in one function: 3000)"));
  CHECK(contains(rejected.message, "split it"));
  CHECK(hostile.compiler_notes() == 1);
  CHECK(executor.counter("compile_limit") == 1);
  CHECK(executor.counter("compile_slices_over") >= 1);

  // Neither the same client nor another one has it tried again.
  CHECK_FALSE(announce(hostile, bomb));
  CHECK_FALSE(announce(other, bomb));
  CHECK(executor.counter("compile_limit") == 1);
  CHECK(executor.counter("compilations_waiting") == 0);
}

TEST_CASE("on a site each tenant has compilers and code of his own") {
  // None outlasts its slice, on a machine of any speed: that would make one more compiler.
  LocalExecutor executor({.programs = PROGRAMS,
                          .compile_slice = std::chrono::minutes(1),
                          .site = true,
                          .remote = lane_under_test() != LaneKind::local,
                          .trusted_fabric = is_fabric_trusted()});
  WorkerClient first(executor, lane_under_test(), 70001);
  WorkerClient second(executor, lane_under_test(), 70002);
  const auto module = test_function("counts_calls");
  CHECK(first.load(module).source == CodeSource::compiled);
  CHECK(executor.counter("compilers") == 2);
  CHECK(second.load(module).source == CodeSource::compiled);
  CHECK(executor.counter("compilers") == 3);
  // What one has is nobody else's, also in the executor's memory.
  WorkerClient again(executor, lane_under_test(), 70001);
  CHECK(again.load(module).source == CodeSource::memory);
}

}  // namespace orchid::tests
