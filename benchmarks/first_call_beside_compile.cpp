// benchmarks/first_call_beside_compile.cpp: what does a module that takes very long to compile cost
// the first calls of small ones?
//
// One program calls small functions that nobody has seen, one after the other on one lease, while a
// compiler is at work on a module of another lease that it cannot finish in its time.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "compile_bomb.h"
#include "executor_compilers.h"
#include "first_call.h"
#include "foundation/files.h"
#include "harness/bench.h"
#include "local_orchid.h"
#include "new_modules.h"
#include "orchid/client.h"
#include "orchid/lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int first_calls = 20;
constexpr auto patience = 60s;
constexpr int ordinary_nice = 8;     // of compilers: 0 and 8
constexpr auto start_takes = 200ms;  // of processor time, and much less

/// Those that go on behind everybody else.
std::vector<Compiler> late_compilers(const tests::LocalOrchid& orchid) {
  auto compilers = find_compilers(orchid);
  std::erase_if(compilers, [](const Compiler& compiler) { return compiler.nice <= ordinary_nice; });
  return compilers;
}

class FirstCalls {
 public:
  FirstCalls(const tests::LocalOrchid& orchid, std::vector<std::byte> module)
      : orchid_(orchid),
        client_({.gateway = orchid.address(), .token = orchid.token()}),
        modules_(std::move(module)) {}

  /// In milliseconds, as in the other.
  Result<std::vector<double>> measure_when_idle() {
    Lease lease = client_.lease();
    return call_new_functions(lease);
  }

  Result<std::vector<double>> measure_beside_bomb() {
    Lease lease = client_.lease();
    Lease other = client_.lease();
    std::atomic<bool> over = false;
    std::string why;
    std::jthread bomb([&] {
      try {
        (void)other.module(bombs_.next()).function().invoke("x");
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::module_rejected) why = error.what();
      }
      over = true;
    });
    const auto give_up = Clock::now() + patience;
    while (late_compilers(orchid_).empty() && !over && Clock::now() < give_up)
      std::this_thread::sleep_for(5ms);
    auto values = call_new_functions(lease);
    const bool all_the_while = !over && !late_compilers(orchid_).empty();
    while (!over && Clock::now() < give_up) {
      crash_late_compilers();
      std::this_thread::sleep_for(5ms);
    }
    bomb.join();
    if (!all_the_while) return fail(ErrorCode::timed_out, "the long compilation is over");
    // It would be compiled further beside the rounds that follow.
    if (!why.empty())
      return fail(ErrorCode::internal, "the long compilation was not ended: " + why);
    return values;
  }

 private:
  /// Two crashes, and a module is not tried again. One that is just starting has none yet.
  void crash_late_compilers() {
    for (const Compiler& compiler : late_compilers(orchid_))
      if (compiler.cpu() > start_takes) ::kill(compiler.pid, SIGABRT);
  }

  std::vector<double> call_new_functions(Lease& lease) {
    std::vector<double> values;
    const std::array<std::byte, 8> no_options{};
    for (int i = 0; i < first_calls; ++i) {
      const auto start = Clock::now();
      (void)lease.module(modules_.next()).function().invoke(no_options);
      values.push_back(milliseconds_since(start));
    }
    return values;
  }

  const tests::LocalOrchid& orchid_;
  Client client_;
  NewModules modules_;
  NewModules bombs_{tests::make_compile_bomb()};
};

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  auto module = read_file(std::filesystem::path(FUNCTIONS) / "blackscholes.bc", 1_MiB);
  if (!orchid || !module) {
    std::fprintf(stderr, "first_call_beside_compile: %s\n",
                 orchid ? "no built functions" : orchid.error().message.c_str());
    return 3;
  }
  FirstCalls calls(*orchid, std::move(*module));
  if (auto warm = calls.measure_when_idle(); !warm) {
    std::fprintf(stderr, "first_call_beside_compile: %s\n", warm.error().message.c_str());
    return 3;
  }
  bench.compare({.row = "first call of a small function while a large one is compiled",
                 .unit = "ms",
                 .round = [&] { return calls.measure_beside_bomb(); },
                 .baseline = {"the same on the idle machine", bench.command_line(), ""},
                 .baseline_round = [&] { return calls.measure_when_idle(); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 3}},
                              {Statistic::p99, {Target::Direction::at_most, 3}}}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("first_call_beside_compile", argc, argv);
  return orchid::bench::run(bench);
}
