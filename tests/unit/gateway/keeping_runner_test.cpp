#include "invocations/keeping_runner.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/files.h"
#include "gateway_fakes.h"

namespace orchid::gateway {
namespace {

/// Keeps what the test says, when it says so.
struct KeepingFixture {
  KeepingFixture() {
    keeping.set_keeper([this](OutputToKeep output, auto done) {
      kept.push_back(std::move(output));
      answer = std::move(done);
    });
  }
  void start(const std::string& invocation, const std::string& output_data) {
    keeping.start({.invocation = invocation,
                   .tenant = 7,
                   .version = version,
                   .input = {},
                   .accepted = {},
                   .deadline = {},
                   .output_data = output_data},
                  [this](CallResult result) { results.push_back(std::move(result)); });
  }

  FakeRunner runner;
  KeepingRunner keeping{runner};
  std::shared_ptr<const FunctionVersion> version = make_version("f", 'a');
  std::vector<OutputToKeep> kept;
  std::function<void(Result<KeptOutput>)> answer;
  std::vector<CallResult> results;
};

TEST_CASE_FIXTURE(KeepingFixture,
                  "the output of a call that asks for it becomes data, and then it ends") {
  start("i-1", "smoothed");
  runner.end("i-1", ok_result("bytes"));
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].tenant == 7);
  CHECK(kept[0].name == "smoothed");
  CHECK(as_text(kept[0].bytes.bytes) == "bytes");
  CHECK(results.empty());
  answer(KeptOutput{.id = "d-1", .label = "smoothed@3", .document = "{}"});
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::ok);
  CHECK(results[0].kept_as == "d-1 smoothed@3");
  CHECK(as_text(results[0].output.bytes) == "{}");
}

TEST_CASE_FIXTURE(KeepingFixture,
                  "a call whose output cannot be kept fails, and is not run again") {
  start("i-1", "smoothed");
  runner.end("i-1", ok_result("bytes"));
  answer(fail(ErrorCode::quota, "you may keep 10 B"));
  REQUIRE(results.size() == 1);
  CHECK_FALSE(is_retryable(results[0].outcome));
  CHECK(results[0].refused == ErrorCode::quota);
  CHECK(results[0].message ==
        "the call has succeeded, but its output could not be kept: you may keep 10 B");
  CHECK(results[0].output.bytes.empty());
  CHECK(results[0].kept_as.empty());
}

TEST_CASE_FIXTURE(KeepingFixture, "calls that fail, and calls that ask for nothing, keep nothing") {
  start("i-1", "smoothed");
  runner.end("i-1", failed_result(Outcome::function_error));
  start("i-2", "");
  runner.end("i-2", ok_result("bytes"));
  CHECK(kept.empty());
  REQUIRE(results.size() == 2);
  CHECK(results[0].outcome == Outcome::function_error);
  CHECK(as_text(results[1].output.bytes) == "bytes");
}

}  // namespace
}  // namespace orchid::gateway
