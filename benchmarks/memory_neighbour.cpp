// benchmarks/memory_neighbour.cpp: what does it cost a batch job that the memory of its host is
// lent?
//
// Two hosts: network namespaces that a bridge joins, each with a core. On the one a program has a
// lease of the other's memory, and reads and writes it as fast as it can, in batches of 8 MiB. On
// the other's only core are the job, the executor and its orchid-memory, which is in the idle class
// and has what the job leaves. The job is Jacobi's five points over 2 x 64 MiB. What it costs is
// reported, and so is how fast the memory still is beside it.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "colocation/victims.h"
#include "far_site.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "measured.h"
#include "orchid/memory.h"

namespace orchid::bench {
namespace {

using tests::HostNamespaces;
using Clock = std::chrono::steady_clock;
using Values = Result<std::vector<double>>;

constexpr std::size_t memory_size = 64 << 20;
constexpr std::size_t part = 1 << 20;
constexpr std::size_t parts = 8;
constexpr auto alone_for = std::chrono::milliseconds(150);  // as long as the job takes

/// A program that puts and gets without a pause, between `go_on` and `pause`, on a core of its own.
/// Owned by one thread.
class Traffic {
 public:
  Traffic(RemoteMemory memory, int core) : memory_(std::move(memory)), core_(core) {}
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  ~Traffic() {
    wanted_ = false;
    if (thread_.joinable()) thread_.join();
  }

  void go_on() {
    wanted_ = true;
    moved_ = 0;
    start_ = Clock::now();
    thread_ = std::thread([this] { move(); });
  }
  /// MiB in a second since `go_on`. Throws what an access has thrown.
  double pause() {
    const std::chrono::duration<double> took = Clock::now() - start_;
    const auto moved = static_cast<double>(moved_);
    wanted_ = false;
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
    return moved / (1 << 20) / took.count();
  }

 private:
  void move() {
    try {
      (void)pin_this_thread(core_);
      for (std::size_t turn = 0; wanted_; ++turn) {
        MemoryBatch batch = memory_.batch();
        for (std::size_t i = 0; i < parts; ++i) {
          const auto bytes = std::span(bytes_).subspan(i * part, part);
          if (turn % 2 == 0)
            batch.put(i * part, bytes);
          else
            batch.get(i * part, bytes);
        }
        batch.run();
        moved_ += bytes_.size();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  RemoteMemory memory_;
  int core_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(part * parts, std::byte{1});
  std::atomic<bool> wanted_ = false;
  std::atomic<std::uint64_t> moved_ = 0;  // bytes
  Clock::time_point start_;
  std::exception_ptr failure_;  // the thread's, until it is joined
  std::thread thread_;
};

/// The job's time, in its unit, and MiB in a second.
struct Together {
  double job = 0;
  double traffic = 0;
};
Together beside(colocation::Victim& job, Traffic& traffic) {
  traffic.go_on();
  const auto took = job.run();
  const double speed = traffic.pause();
  return {.job = must(took), .traffic = speed};
}

void measure(Bench& bench, colocation::Victim& job, Traffic& traffic) {
  bench.compare({.row = job.name() + " beside leased memory at full traffic, on one core",
                 .unit = job.unit(),
                 .round = [&]() -> Values { return std::vector{beside(job, traffic).job}; },
                 .baseline = {"the same alone", bench.command_line(), ""},
                 .baseline_round = [&]() -> Values { return std::vector{must(job.run())}; },
                 .promises = {}});
  bench.compare({.row = "leased memory beside that job, MiB in a second",
                 .unit = "MiB/s",
                 .round = [&]() -> Values { return std::vector{beside(job, traffic).traffic}; },
                 .baseline = {"the same while that core is idle", bench.command_line(), ""},
                 .baseline_round = [&]() -> Values {
                   traffic.go_on();
                   std::this_thread::sleep_for(alone_for);
                   return std::vector{traffic.pause()};
                 },
                 .promises = {}});
}

int run(Bench& bench) {
  const auto [here, there] = two_cores();
  const auto hosts = must(HostNamespaces::create(1));
  const auto site = must(FarSite::start(hosts, {.flags = {"--data-memory", "128MiB"}}));
  Client client = site->client();
  RemoteMemory memory = client.memory({.bytes = memory_size});
  for (const pid_t process : site->processes()) (void)pin(process, there);
  must(pin_this_thread(there));
  const auto job = colocation::make_stencil();
  Traffic traffic(memory, here);
  measure(bench, *job, traffic);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  ::setenv("UCX_LOG_LEVEL", "error", 0);  // each end names the other's device, which it has not
  orchid::bench::Bench bench("memory_neighbour", argc, argv);
  return orchid::bench::run_benchmark(bench, orchid::bench::run);
}
