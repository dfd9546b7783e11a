// benchmarks/hot_under_compiles.cpp: what do compilations cost a hot function, and it them?
//
// One thread calls an echo on a lease, one call after the other. Meanwhile another calls a hundred
// modules that nobody has seen, on a second lease: each is compiled quickly, called, and compiled
// for good behind that. The control is the same hot function beside two processes that burn as much
// CPU time as the two compilers took, at the compilers' priorities, and in a session of their own
// as the executor is: Linux shares a core between sessions first.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "executor_compilers.h"
#include "first_call.h"
#include "foundation/files.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "local_orchid.h"
#include "new_modules.h"
#include "orchid/client.h"
#include "orchid/lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int cold_functions = 100;
constexpr auto patience = 60s;

class Setup {
 public:
  Setup(tests::LocalOrchid& orchid, std::vector<std::byte> module, LeasedFunction echo)
      : client_({.gateway = orchid.address(), .token = orchid.token()}),
        compilers_(find_compilers(orchid)),
        modules_(std::move(module)),
        echo_(std::move(echo)) {}

  [[nodiscard]] std::size_t compilers() const { return compilers_.size(); }

  /// From the first announcement until the last function has answered and all have their best code.
  /// Those two times, in milliseconds.
  struct Batch {
    double answered = 0;
    double improved = 0;
  };
  Result<Batch> compile_batch() {
    for (Compiler& compiler : compilers_) compiler.cpu_per_batch = compiler.cpu();
    const std::uint64_t before = improved();
    const auto start = Clock::now();
    const std::array<std::byte, 8> no_options{};
    Lease lease = client_.lease();
    for (int i = 0; i < cold_functions; ++i)
      (void)lease.module(modules_.next()).function().invoke(no_options);
    Batch batch{.answered = milliseconds_since(start)};
    while (improved() < before + cold_functions) {
      if (Clock::now() - start > patience)
        return fail(ErrorCode::timed_out, "the modules do not get better code");
      std::this_thread::sleep_for(5ms);
    }
    batch.improved = milliseconds_since(start);
    for (Compiler& compiler : compilers_)
      compiler.cpu_per_batch = compiler.cpu() - compiler.cpu_per_batch;
    return batch;
  }

  /// As much CPU time as the compilers took for the last batch.
  Result<void> burn_batch() {
    const pid_t session = ::fork();
    if (session < 0) return fail_errno("fork");
    if (session == 0) {
      ::setsid();
      for (const Compiler& compiler : compilers_)
        if (::fork() == 0) burn(compiler);
      while (::wait(nullptr) > 0) {
      }
      ::_exit(0);
    }
    ::waitpid(session, nullptr, 0);
    return {};
  }

  /// Calls the echo until `work` is done; the time of each call in microseconds.
  template <typename Work>
  Result<std::vector<double>> beside(Work work) {
    std::atomic<bool> done = false;
    std::vector<double> values;
    std::thread hot([&] {
      const std::array<std::byte, 8> input{};
      std::array<std::byte, 8> output{};
      while (!done.load(std::memory_order_relaxed)) {
        const std::uint64_t start = ticks_now();
        (void)echo_.invoke_into(input, output);
        values.push_back(static_cast<double>(rate_.duration(ticks_now() - start).count()) / 1000);
      }
    });
    auto worked = work();
    done = true;
    hot.join();
    if (!worked) return fail(std::move(worked.error()));
    return thin(std::move(values));
  }

 private:
  /// A spread of some thousand of them: a round has millions.
  static std::vector<double> thin(std::vector<double> values) {
    constexpr std::size_t enough = 5000;
    std::ranges::sort(values);
    std::vector<double> few;
    for (std::size_t i = 0; i < enough && values.size() > enough; ++i)
      few.push_back(values[(2 * i + 1) * values.size() / (2 * enough)]);
    return values.size() > enough ? few : values;
  }

  [[noreturn]] static void burn(const Compiler& compiler) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpriority(PRIO_PROCESS, 0, compiler.nice);
    rusage used{};
    const auto spent = [&used] {
      ::getrusage(RUSAGE_SELF, &used);
      return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
             std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    };
    const auto begun = spent();
    volatile std::uint64_t sum = 0;
    while (spent() - begun < compiler.cpu_per_batch)
      for (int i = 0; i < 10'000; ++i) sum = sum + static_cast<std::uint64_t>(i);
    ::_exit(0);
  }

  /// Of all modules so far, as the executor has told the gateway.
  std::uint64_t improved() {
    const auto hosts = nlohmann::json::parse(client_.get("/v1/hosts"));
    return hosts.at("hosts")
        .at(0)
        .at("executors")
        .at(0)
        .at("counters")
        .value("code_improved", 0ULL);
  }

  Client client_;
  std::vector<Compiler> compilers_;
  NewModules modules_;
  LeasedFunction echo_;
  TickRate rate_ = TickRate::measure();
};

void compare_hot_calls(Bench& bench, Setup& setup) {
  bench.compare({.row = "hot echo of 8 B while 100 new functions come",
                 .unit = "us",
                 .round = [&] { return setup.beside([&] { return setup.compile_batch(); }); },
                 .baseline = {"the same beside processes that burn the compilers' CPU time",
                              bench.command_line(), ""},
                 .baseline_round = [&] { return setup.beside([&] { return setup.burn_batch(); }); },
                 .promises = {{Statistic::p99, {Target::Direction::at_most, 1.2}}}});
}

void compare_compilations(Bench& bench, Setup& setup) {
  struct Part {
    const char* row;
    double Setup::Batch::* time;
  };
  for (const Part part : {Part{"100 new functions have answered", &Setup::Batch::answered},
                          Part{"and have their best code", &Setup::Batch::improved}})
    bench.compare({.row = part.row,
                   .unit = "ms",
                   .round = [&setup, part]() -> Result<std::vector<double>> {
                     Result<Setup::Batch> batch;
                     auto hot = setup.beside([&]() -> Result<void> {
                       batch = setup.compile_batch();
                       if (!batch) return fail(batch.error());
                       return {};
                     });
                     if (!hot) return fail(std::move(hot.error()));
                     return std::vector{(*batch).*part.time};
                   },
                   .baseline = {"the same on the idle machine", bench.command_line(), ""},
                   .baseline_round = [&setup, part]() -> Result<std::vector<double>> {
                     auto batch = setup.compile_batch();
                     if (!batch) return fail(std::move(batch.error()));
                     return std::vector{(*batch).*part.time};
                   },
                   .promises = {{Statistic::p50, {Target::Direction::at_most, 3}}}});
}

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  auto echo = read_file(std::filesystem::path(FUNCTIONS) / "echo.bc", 1_MiB);
  auto module = read_file(std::filesystem::path(FUNCTIONS) / "blackscholes.bc", 1_MiB);
  if (!orchid || !echo || !module) {
    std::fprintf(stderr, "hot_under_compiles: %s\n",
                 orchid ? "no built functions" : orchid.error().message.c_str());
    return 3;
  }
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  Lease lease = client.lease();
  Setup setup(*orchid, std::move(*module), lease.module(*echo).function());
  if (setup.compilers() != 2) {
    std::fputs("hot_under_compiles: the executor should have two compilers\n", stderr);
    return 3;
  }
  if (auto warm = setup.compile_batch(); !warm) {
    std::fprintf(stderr, "hot_under_compiles: %s\n", warm.error().message.c_str());
    return 3;
  }
  compare_hot_calls(bench, setup);
  compare_compilations(bench, setup);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("hot_under_compiles", argc, argv);
  return orchid::bench::run(bench);
}
