// benchmarks/remote_calls.cpp: what does a call cost from a program that holds a lease on another
// host, against raw UCX over the same network?
//
// Echo of 8 B to 64 MiB between two network namespaces that a bridge joins, over TCP. Ours is all
// that a user has: gateway, executor, sandboxed worker, orchid::LeasedFunction. Both sides spin,
// each on its own core. Inputs of 1 MiB and more are written in place and their outputs read in
// place. The last rows are of an adaptive lease, whose calls come after 1 ms without any; what they
// take more than a raw UCX wake-up is of the same round.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "far_site.h"
#include "foundation/files.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "harness/statistics.h"
#include "orchid/lease.h"
#include "raw_ucx.h"
#include "timed_calls.h"

namespace orchid::bench {
namespace {

constexpr const char* transports = "tcp,self";
/// Of HostNamespaces: this host's and the other's.
constexpr const char* devices = "bridge0,link0";
constexpr std::size_t largest_copied = 4096;

struct Case {
  const char* name;
  std::size_t size;
  int calls;     // in one round
  double bound;  // of the ratio
  bool asleep = false;
};

Result<void> expect_size(std::size_t got, std::size_t expected) {
  if (got == expected) return {};
  return fail(ErrorCode::internal, "not an echo");
}

Result<std::vector<double>> lease_round(Client& client, const FarSite& site, int worker_core,
                                        const Case& what, const TickRate& rate) {
  try {
    // Taken for the round: a worker that spins beside the rival would be measured with it.
    Lease lease = client.lease({.wait = what.asleep ? Wait::adaptive : Wait::hot});
    const LeasedFunction echo = lease.function("echo");
    for (const pid_t process : site.processes()) (void)pin(process, worker_core);
    const std::vector<std::byte> input(what.size, std::byte{1});
    std::vector<std::byte> output(what.size);
    const auto call = [&]() -> Result<void> {
      if (what.size <= largest_copied)
        return expect_size(echo.invoke_into(input, output), what.size);
      return expect_size(echo.invoke_in_place(lease.buffer(what.size)).bytes().size(), what.size);
    };
    return what.asleep ? calls_after_sleep(what.calls, rate, call)
                       : warm_calls(what.calls, rate, call);
  } catch (const Error& error) {
    return fail(ErrorCode::internal, error.what());
  }
}

Result<std::vector<double>> ucx_round(int host, int server_core, const Case& what,
                                      const TickRate& rate) {
  auto echo = RawUcxEcho::start({.transports = transports,
                                 .server_core = server_core,
                                 .largest = what.size,
                                 .devices = devices,
                                 .server_namespace = host,
                                 .sleeps = what.asleep});
  if (!echo) return fail(std::move(echo.error()));
  const auto call = [&] { return echo->round_trip(what.size); };
  return what.asleep ? calls_after_sleep(what.calls, rate, call)
                     : warm_calls(what.calls, rate, call);
}

constexpr Case cases[] = {
    {"echo 8 B", 8, 3000, 1.05},           {"echo 1 KiB", 1024, 3000, 1.05},
    {"echo 4 KiB", 4096, 3000, 1.05},      {"echo 1 MiB", 1 << 20, 60, 1 / 0.9},
    {"echo 64 MiB", 64 << 20, 3, 1 / 0.9}, {"echo 8 B, asleep for 1 ms", 8, 200, 0, true}};

/// Measures the rival in a process of its own, which was forked before this one has used UCX: a
/// fork of a process that has shares UCX's event set with it. Used by one thread.
class Rival {
 public:
  [[nodiscard]] static Result<Rival> start(int host, const std::vector<int>& cores,
                                           const TickRate& rate) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      return fail_errno("socketpair");
    UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) return fail_errno("fork");
    if (child == 0) {
      ours.reset();
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(theirs.get(), host, cores, rate);
      ::_exit(0);
    }
    return Rival(std::move(ours));
  }

  [[nodiscard]] Result<std::vector<double>> round(std::size_t which) const {
    std::vector<double> values(most_calls);
    if (::send(ours_.get(), &which, sizeof(which), MSG_NOSIGNAL) < 0) return fail_errno("send");
    const ssize_t got = ::recv(ours_.get(), values.data(), values.size() * sizeof(double), 0);
    if (got <= 0) return fail(ErrorCode::internal, "raw UCX has failed");
    values.resize(static_cast<std::size_t>(got) / sizeof(double));
    return values;
  }

 private:
  static constexpr std::size_t most_calls = 4096;
  explicit Rival(UniqueFd ours) : ours_(std::move(ours)) {}

  /// Until nobody asks any more, or a round fails.
  static void serve(int asked, int host, const std::vector<int>& cores, const TickRate& rate) {
    if (!pin_this_thread(cores[0])) return;
    std::size_t which = 0;
    while (::recv(asked, &which, sizeof(which), 0) == sizeof(which)) {
      const auto values = ucx_round(host, cores[1], cases[which], rate);
      if (!values) std::fprintf(stderr, "remote_calls: %s\n", values.error().message.c_str());
      if (!values || ::send(asked, values->data(), values->size() * sizeof(double), 0) < 0) return;
    }
  }

  UniqueFd ours_;
};

/// Ours less the rival's, of one round.
Result<std::vector<double>> difference(double fraction, const Result<std::vector<double>>& ours,
                                       const Result<std::vector<double>>& raw) {
  if (!ours) return ours;
  if (!raw) return raw;
  return std::vector{percentile(*ours, fraction) - percentile(*raw, fraction)};
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  auto hosts = tests::HostNamespaces::create(1);
  if (!hosts || cores.size() < 2) {
    std::fprintf(stderr, "remote_calls: %s\n",
                 hosts ? "two cores are needed" : hosts.error().message.c_str());
    return 3;
  }
  const UniqueFd far(
      static_cast<int>(::syscall(SYS_pidfd_open, std::atoi(hosts->process(0).c_str()), 0)));
  const TickRate rate = TickRate::measure();
  const auto rival = Rival::start(far.get(), cores, rate);
  auto site = FarSite::start(*hosts);
  auto module = read_file(std::filesystem::path(FUNCTIONS) / "echo.bc", 1_MiB);
  if (!rival || !site || !module) {
    const Failure& why = !rival ? rival.error() : site ? module.error() : site.error();
    std::fprintf(stderr, "remote_calls: %s\n", why.message.c_str());
    return 3;
  }
  Client client = (*site)->client();
  client.deploy("echo", *module);
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  for (std::size_t which = 0; which < std::size(cases); ++which) {
    const Case& what = cases[which];
    const auto ours = [&] { return lease_round(client, **site, cores[1], what, rate); };
    if (what.asleep) {
      for (const auto& [name, fraction, bound] :
           {std::tuple{", p50 over that of a raw UCX wake-up", 0.5, 5.0},
            {", p99 over that of a raw UCX wake-up", 0.99, 20.0}})
        bench.measure(
            {.row = std::string(what.name) + name,
             .unit = "us",
             .round = [&, fraction] { return difference(fraction, ours(), rival->round(which)); },
             .promises = {{Statistic::p50, {Target::Direction::at_most, bound}}}});
      continue;
    }
    bench.compare({.row = what.name,
                   .unit = "us",
                   .round = ours,
                   .baseline = {"raw UCX active messages", bench.command_line(),
                                std::string("UCX_TLS=") + transports},
                   .baseline_round = [&] { return rival->round(which); },
                   .promises = {{Statistic::p50, {Target::Direction::at_most, what.bound}}}});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  ::setenv("UCX_LOG_LEVEL", "error", 0);  // each end names the other's device, which it has not
  orchid::bench::Bench bench("remote_calls", argc, argv);
  return orchid::bench::run(bench);
}
