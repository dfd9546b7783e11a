// benchmarks/crew_restart.cpp: how soon does a crew stand again when a member was lost?
//
// A member is killed while nothing is under way. All others end with it, and all are made anew,
// wired and confined. The time ends when the crew stands, and, in rows of their own, when a call at
// the last member has its answer, for which each member has loaded the module again. All members
// share the cores of this machine.
//
// With --hosts, before other options, every other member is at a second executor, and reached over
// UCX: nothing is promised for that.
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "far_executor.h"
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

/// The rows of a crew that stands.
void measure(Bench& bench, Crew& crew, std::span<const std::byte> module, std::string of) {
  const CrewFunction echo = crew.function(module, "echo");
  const bool is_promised = of == "8 members";
  Measurement stands{.row = of + " stand again",
                     .unit = "ms",
                     .round = [&] { return lose_one(crew, echo, Until::stands); },
                     .promises = {}};
  if (is_promised) stands.promises = {{Statistic::p50, {Target::Direction::at_most, promised_ms}}};
  bench.measure(stands);
  bench.measure({.row = of + ", a call is answered again",
                 .unit = "ms",
                 .round = [&] { return lose_one(crew, echo, Until::answers); },
                 .promises = {}});
}

int run(Bench& bench, bool at_hosts) {
  const auto module = tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc");
  for (const unsigned members : {2U, 8U, 16U, 32U, 64U}) {
    const CrewOptions wanted{
        .workers = members, .wait = Wait::blocking, .within = std::chrono::seconds(60)};
    std::optional<tests::FarExecutor> second;  // before all that has threads
    if (at_hosts)
      second.emplace(
          tests::LocalExecutor::Options{.programs = PROGRAMS, .spare = 1, .remote = true});
    tests::LocalExecutor executor({.programs = PROGRAMS, .spare = 1, .remote = at_hosts});
    Crew crew = tests::take_crew(
        second ? std::make_unique<tests::ExecutorCrews>(executor, std::vector{&*second})
               : std::make_unique<tests::ExecutorCrews>(executor),
        wanted);
    measure(bench, crew, module,
            std::to_string(members) + " members" + (at_hosts ? " at two executors" : ""));
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  const bool at_hosts = argc > 1 && std::string_view(argv[1]) == "--hosts";
  if (at_hosts) {
    argv[1] = argv[0];
    ++argv;
    --argc;
  }
  orchid::bench::Bench bench{"crew_restart", argc, argv};
  return orchid::bench::run(bench, at_hosts);
}
