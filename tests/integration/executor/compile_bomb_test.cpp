// Modules that take very long to compile: others' are compiled meanwhile, and what comes to nothing
// is not begun again. And whose compilers see whose modules.
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

}  // namespace

TEST_CASE(
    "while a module takes very long to compile others' calls go on; then it is refused for good") {
  const auto bomb = make_compile_bomb();  // first: the executor takes the ends of all children
  LocalExecutor executor({.programs = PROGRAMS,
                          .compile_limit = std::chrono::seconds(3),
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
  CHECK(contains(rejected.message, "more than 3 s of processor time"));
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
  LocalExecutor executor({.programs = PROGRAMS,
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
