// benchmarks/crew_restart.cpp: how soon does a crew stand again when a member was lost?
//
// A member is killed while nothing is under way. All others end with it, and all are made anew,
// wired and confined. The time ends when the crew stands, and, in rows of their own, when a call at
// the last member has its answer, for which each member has loaded the module again. All members
// share the cores of this machine.
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/bench.h"
#include "local_crew.h"
#include "local_lease.h"

namespace orchid::bench {
namespace {

constexpr double promised_ms = 200;
constexpr std::chrono::seconds patience{60};

enum class Until { stands, answers };

/// Milliseconds from the end of a member.
Result<std::vector<double>> lose_one(Crew& crew, const CrewFunction& echo, Until until) {
  (void)echo.invoke(crew.members(), "x");  // it stands, and has the module
  const unsigned formations = crew.formations();
  const auto pids = crew.pids();
  if (pids.empty()) return fail(ErrorCode::internal, "the crew does not stand");
  const auto start = std::chrono::steady_clock::now();
  if (::kill(static_cast<pid_t>(pids.front()), SIGKILL) != 0) return fail_errno("kill");
  while (crew.formations() == formations) {
    if (std::chrono::steady_clock::now() - start > patience)
      return fail(ErrorCode::timed_out, "the crew does not stand again");
    std::this_thread::yield();
  }
  if (until == Until::answers) (void)echo.invoke(crew.members(), "x");
  return std::vector{
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()};
}

int run(Bench& bench) {
  const auto module = tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc");
  for (const unsigned members : {2U, 8U, 16U, 32U, 64U}) {
    tests::LocalExecutor executor({.programs = PROGRAMS, .spare = 1});
    Crew crew = tests::take_crew(
        std::make_unique<tests::ExecutorCrews>(executor),
        {.workers = members, .wait = Wait::blocking, .within = std::chrono::seconds(60)});
    const CrewFunction echo = crew.function(module, "echo");
    const std::string of = std::to_string(members) + " members";
    Measurement stands{.row = of + " stand again",
                       .unit = "ms",
                       .round = [&] { return lose_one(crew, echo, Until::stands); },
                       .promises = {}};
    if (members == 8)
      stands.promises = {{Statistic::p50, {Target::Direction::at_most, promised_ms}}};
    bench.measure(stands);
    bench.measure({.row = of + ", a call is answered again",
                   .unit = "ms",
                   .round = [&] { return lose_one(crew, echo, Until::answers); },
                   .promises = {}});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench{"crew_restart", argc, argv};
  return orchid::bench::run(bench);
}
