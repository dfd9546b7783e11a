#include "share/core_usage.h"

#include <doctest/doctest.h>

namespace orchid::share {
namespace {

using namespace std::chrono_literals;
constexpr MonotonicTime start{1h};

/// Of a numbered step.
StepProcess bound(std::string step, CoreList cores, std::uint32_t step_cpus) {
  return {.pid = 100, .step = std::move(step), .step_cpus = step_cpus, .bound = std::move(cores)};
}
StepProcess loose(std::string step, std::optional<std::uint32_t> step_cpus) {
  return {.pid = 101, .step = std::move(step), .step_cpus = step_cpus, .bound = {}, .loose = true};
}
/// The batch script, or what it has started.
StepProcess of_script(pid_t pid, std::chrono::nanoseconds own,
                      std::chrono::nanoseconds children = 0ns) {
  return {.pid = pid,
          .step = {},
          .step_cpus = 8,
          .bound = {},
          .loose = true,
          .processor_time = own,
          .children_time = children};
}

}  // namespace

TEST_CASE("a step that is bound uses what it is bound to") {
  CoreUsage usage(first_numbers(8));
  CHECK(usage.look(start, {}) == CoresUsed{});
  CHECK(usage.look(start, {bound("3", {0}, 2), bound("3", {1}, 2), bound("4", {5, 6}, 2)}) ==
        CoresUsed{.cores = {0, 1, 5, 6}});
  CHECK(usage.look(start, {bound("3", {0, 12}, 2)}).cores == CoreList{0});  // 12 is not the job's
}

TEST_CASE("a step that is not bound uses as many cores as it was given") {
  CoreUsage usage(first_numbers(8));
  CHECK(usage.look(start, {loose("3", 2), loose("3", 2)}) == CoresUsed{.cores = {}, .loose = 2});
  CHECK(usage.look(start, {loose("3", 2), loose("4", 1)}).loose == 3);
  CHECK(usage.look(start, {loose("3", 99)}).loose == 8);
  CHECK(usage.look(start, {loose("3", std::nullopt)}).loose == 8);  // nobody knows: all
  CHECK(usage.look(start, {bound("3", {0, 1}, 3), loose("3", 3)}) ==
        CoresUsed{.cores = {0, 1}, .loose = 1});
}

TEST_CASE("a batch script uses what it is busy with") {
  CoreUsage usage(first_numbers(8));
  CHECK(usage.look(start, {of_script(7, 100s)}) == CoresUsed{});  // before that nobody looked
  CHECK(usage.look(start + 500ms, {of_script(7, 100s + 20ms)}).loose == 0);
  CHECK(usage.look(start + 1000ms, {of_script(7, 100s + 520ms)}).loose == 1);
  CHECK(usage.look(start + 1100ms, {of_script(7, 100s + 520ms)}).loose == 1);  // too soon to say
  CHECK(usage.look(start + 1500ms, {of_script(7, 100s + 520ms)}).loose == 0);
  CHECK(usage
            .look(start + 2000ms, {of_script(7, 100s + 520ms), of_script(8, 480ms),
                                   of_script(9, 500ms), of_script(10, 300ms)})
            .loose == 3);
}

TEST_CASE("the time of short processes counts when their parent has waited for them") {
  CoreUsage usage(first_numbers(8));
  (void)usage.look(start, {of_script(7, 1s, 50s)});
  CHECK(usage.look(start + 500ms, {of_script(7, 1s, 50s + 490ms)}).loose == 1);
  // One that was seen while it ran is not counted a second time when it has ended.
  CHECK(usage.look(start + 1000ms, {of_script(7, 1s, 50s + 490ms), of_script(8, 450ms)}).loose ==
        1);
  CHECK(usage.look(start + 1500ms, {of_script(7, 1s, 50s + 940ms)}).loose == 0);
}

TEST_CASE("what a batch script has bound uses the cores that it is bound to, and no others") {
  CoreUsage usage(first_numbers(8));
  StepProcess rank = bound("", {2}, 8);
  const auto at = [&](std::chrono::milliseconds time) {
    rank.processor_time = time;
    return usage.look(start + time, {of_script(7, 1s), rank});
  };
  CHECK(at(0ms) == CoresUsed{.cores = {2}});
  CHECK(at(500ms) == CoresUsed{.cores = {2}});
  CHECK(at(1000ms) == CoresUsed{.cores = {2}});
}

}  // namespace orchid::share
