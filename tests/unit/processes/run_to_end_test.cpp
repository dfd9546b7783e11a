#include "processes/run_to_end.h"

#include <doctest/doctest.h>

namespace orchid::processes {
namespace {

Result<RunResult> run(const std::string& script, const RunOptions& options = {}) {
  return run_to_end({.program = "/bin/sh", .arguments = {"-c", script}}, options);
}

}  // namespace

TEST_CASE("a program's outputs and its end are kept apart") {
  const auto result = run("echo out; echo err >&2; exit 3");
  REQUIRE(result.has_value());
  CHECK(result->output == "out\n");
  CHECK(result->errors == "err\n");
  REQUIRE(result->end.has_value());
  CHECK(result->end->status == 3);
}

TEST_CASE("a program reads its input, also more than a pipe holds") {
  const std::string input(1U << 20, 'x');
  const auto result = run("cat", {.input = input});
  REQUIRE(result.has_value());
  CHECK(result->output == input);
}

TEST_CASE("what is dropped is not kept") {
  const auto result = run("echo out; echo err >&2", {.errors = Output::dropped});
  REQUIRE(result.has_value());
  CHECK(result->output == "out\n");
  CHECK(result->errors.empty());
}

TEST_CASE("a program that takes too long is killed, and what it printed is there") {
  const auto result =
      run("echo begun; exec tail -f /dev/null", {.longest = std::chrono::milliseconds(500)});
  REQUIRE(result.has_value());
  CHECK_FALSE(result->end.has_value());
  CHECK(result->output == "begun\n");
}

TEST_CASE("a program that prints too much is told from one that fails") {
  const auto result = run("yes", {.most_output = 1_MiB});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::too_large);
  CHECK(result.error().message == "/bin/sh: it printed too much");
}

TEST_CASE("what a program leaves running is not waited for") {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run("tail -f /dev/null --pid=$PPID & echo done");  // ends when we do
  REQUIRE(result.has_value());
  REQUIRE(result->end.has_value());
  CHECK(result->output == "done\n");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

TEST_CASE("a program that is not there is an error") {
  const auto result = run_to_end({.program = "/nonexistent", .arguments = {}}, {});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message == "start /nonexistent: No such file or directory");
}

}  // namespace orchid::processes
