// benchmarks/wake_latency.cpp: what does a call cost that finds its worker asleep, against a raw
// UCX wake-up, and what does a worker cost while it sleeps?
//
// An adaptive lease, after 1 ms without calls, on both lanes; the one between hosts over loopback.
// The differences to the raw wake-up are of the same round. The last row is of the first lane,
// beside four processes that compute in bursts on all cores: the worker bound to its core, as the
// executor binds those of a lease, against one that the kernel may move.
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "busy_desktop.h"
#include "foundation/sockets.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "harness/statistics.h"
#include "local_lease.h"
#include "raw_ucx.h"
#include "timed_calls.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

constexpr int calls = 200;  // in one round

struct Lane {
  const char* name;
  const char* transports;  // of the rival
  const char* devices;
};

/// The rival, in a process that is forked before ours starts UCX: a fork of a process with UCX
/// shares its events.
class Rival {
 public:
  [[nodiscard]] static Result<Rival> start(const Lane& lane, int core) {
    auto ends = make_packet_pair();
    if (!ends) return fail(std::move(ends.error()));
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno("fork");
    if (pid == 0) {
      ends->first.reset();
      serve(lane, core, ends->second.get());
    }
    return Rival(std::move(ends->first), pid);
  }
  Rival(Rival&& other) noexcept
      : socket_(std::move(other.socket_)), pid_(std::exchange(other.pid_, -1)) {}
  ~Rival() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] Result<std::vector<double>> round() const {
    std::vector<double> values(calls);
    const auto bytes = std::as_writable_bytes(std::span(values));
    if (::send(socket_.get(), "?", 1, MSG_NOSIGNAL) != 1) return fail_errno("ask the rival");
    if (::recv(socket_.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      return fail(ErrorCode::internal, "the rival has failed");
    return values;
  }

 private:
  Rival(UniqueFd socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}
  [[noreturn]] static void serve(const Lane& lane, int core, int socket) {
    const TickRate rate = TickRate::measure();
    for (char question = 0; ::recv(socket, &question, 1, 0) == 1;) {
      const auto values = measure(rate, lane, core);
      if (!values) std::fprintf(stderr, "wake_latency: %s\n", values.error().message.c_str());
      const auto bytes = values ? std::as_bytes(std::span(*values)) : std::span<const std::byte>();
      if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 1) break;
    }
    ::_exit(0);
  }
  [[nodiscard]] static Result<std::vector<double>> measure(const TickRate& rate, const Lane& lane,
                                                           int core) {
    auto echo = RawUcxEcho::start({.transports = lane.transports,
                                   .server_core = core,
                                   .devices = lane.devices,
                                   .sleeps = true});
    if (!echo) return fail(std::move(echo.error()));
    for (int warm = 0; warm < 50; ++warm)
      if (auto done = echo->round_trip(8); !done) return fail(std::move(done.error()));
    return calls_after_sleep(calls, rate, [&] { return echo->round_trip(8); });
  }

  UniqueFd socket_;
  pid_t pid_;
};

struct Setup {
  explicit Setup(const Lane& of) : lane(of) {}
  const Lane& lane;
  TickRate rate = TickRate::measure();
  tests::LocalExecutor executor{{.programs = PROGRAMS, .remote = true}};
  Lease lease = tests::take_lease(std::make_shared<tests::ExecutorSource>(executor),
                                  {.workers = 1, .wait = Wait::adaptive, .lane = lane.name});
  LeasedFunction echo =
      lease.module(tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc")).function();

  Result<std::vector<double>> ours() {
    const std::vector<std::byte> input(8, std::byte{1});
    std::vector<std::byte> output(8);
    return calls_after_sleep(calls, rate, [&]() -> Result<void> {
      if (echo.invoke_into(input, output) == 8) return {};
      return fail(ErrorCode::internal, "not an echo");
    });
  }
  /// Ours less raw.
  Result<std::vector<double>> difference(double fraction, const Rival& rival) {
    auto mine = ours();
    auto raw = rival.round();
    if (!mine) return mine;
    if (!raw) return raw;
    return std::vector{percentile(*mine, fraction) - percentile(*raw, fraction)};
  }
  /// Per cent of a core that the worker uses in a second without calls.
  Result<std::vector<double>> idle_load() {
    const auto pid = static_cast<pid_t>(sdk::LeaseAccess::core_of(lease).worker_pids().at(0));
    const auto before = cpu_time_of(pid);
    std::this_thread::sleep_for(1s);
    const auto after = cpu_time_of(pid);
    if (!before || !after) return fail(ErrorCode::internal, "the worker has gone");
    return std::vector{static_cast<double>((*after - *before).count()) / 10'000};
  }
};

Result<void> measure(Bench& bench, const Lane& lane, const Rival& rival,
                     const std::vector<int>& cores) {
  Setup setup(lane);
  for (const std::int64_t pid : sdk::LeaseAccess::core_of(setup.lease).worker_pids())
    if (auto pinned = pin(pid, cores[1]); !pinned) return pinned;
  const std::string over =
      std::string(" over that of a raw UCX wake-up (") + lane.transports + "), lane " + lane.name;
  const auto at_most = [](double bound) {
    return std::vector<Promise>{{Statistic::p50, {Target::Direction::at_most, bound}}};
  };
  bench.measure({.row = "p50" + over,
                 .unit = "us",
                 .round = [&] { return setup.difference(0.5, rival); },
                 .promises = at_most(5)});
  bench.measure({.row = "p99" + over,
                 .unit = "us",
                 .round = [&] { return setup.difference(0.99, rival); },
                 .promises = at_most(20)});
  bench.measure({.row = std::string("a worker that waits, lane ") + lane.name,
                 .unit = "% of a core",
                 .round = [&] { return setup.idle_load(); },
                 .promises = at_most(1)});
  return {};
}

/// All threads of a process, which one of the same user may move.
Result<void> run_on(pid_t process, const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<unsigned>(core), &set);
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks))
    if (::sched_setaffinity(std::stoi(task.path().filename().string()), sizeof(set), &set) != 0)
      return fail_errno("sched_setaffinity");
  return {};
}

void measure_beside(Bench& bench, const BusyDesktop& desktop, const Lane& lane,
                    const std::vector<int>& cores) {
  Setup setup(lane);
  const auto worker =
      static_cast<pid_t>(sdk::LeaseAccess::core_of(setup.lease).worker_pids().at(0));
  const auto round = [&](const std::vector<int>& where) -> Result<std::vector<double>> {
    if (auto moved = run_on(worker, where); !moved) return fail(std::move(moved.error()));
    return setup.ours();
  };
  desktop.go_on();
  bench.compare({.row = "a call after 1 ms asleep, beside four processes that compute in bursts",
                 .unit = "us",
                 .round = [&] { return round({cores[1]}); },
                 .baseline = {"its worker on any core", bench.command_line(), ""},
                 .baseline_round = [&] { return round(cores); },
                 .promises = {}});
  desktop.stop();
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("wake_latency needs two cores\n", stderr);
    return 3;
  }
  const BusyDesktop desktop(4);  // before it is pinned
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  const std::array lanes{Lane{"local", "posix,self", ""}, Lane{"ucx", "tcp,self", "lo"}};
  std::vector<Rival> rivals;
  for (const Lane& lane : lanes) {
    auto rival = Rival::start(lane, cores[1]);
    if (!rival) return 3;
    rivals.push_back(std::move(*rival));
  }
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (auto done = measure(bench, lanes[i], rivals[i], cores); !done) return 3;
  measure_beside(bench, desktop, lanes[0], cores);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("wake_latency", argc, argv);
  return orchid::bench::run(bench);
}
