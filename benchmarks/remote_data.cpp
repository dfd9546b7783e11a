// benchmarks/remote_data.cpp: how long does a data object take to another host, as all that a user
// has moves it?
//
// Three hosts: network namespaces that a bridge joins. A copy between two executors, from the
// request at the gateway until the gateway tells that it is there: with the start of both ends of
// orchid-copy, their sandboxes, new pages, and the seal. The rival is one active message of the
// object's size with UCX's default settings between the same two hosts, over a connection that is
// there, from and to memory that has been touched. Each host has a core. The last rows are PUT and
// GET by curl on another host than the gateway's, against nginx at the gateway's host, whose file
// is in /dev/shm. (data_copy has the two ends of a copy alone.)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "far_site.h"
#include "forked_end.h"
#include "foundation/tick_clock.h"
#include "foundation/unique_fd.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "http_files.h"
#include "measured.h"
#include "nginx_files.h"
#include "raw_round.h"
#include "raw_ucx.h"
#include "timed_calls.h"

namespace orchid::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Values = Result<std::vector<double>>;
using tests::HostNamespaces;
using namespace std::chrono_literals;

constexpr double promised_bandwidth = 1.15;
constexpr unsigned executors = 2;  // on hosts 0 and 1
constexpr unsigned curls_host = 1;
constexpr std::size_t size = 256 << 20;
constexpr auto patience = 60s;
constexpr auto look_again = 500us;

/// A process that lives there, for setns(2).
UniqueFd place_of(const HostNamespaces& hosts, unsigned host) {
  return UniqueFd(
      static_cast<int>(::syscall(SYS_pidfd_open, std::atoi(hosts.process(host).c_str()), 0)));
}

// ---- copies ----

/// From its order until it is there. The object is made for it, and removed again.
Values copy(Client& client) {
  constexpr const char* name = "moved";
  const DataInfo made = client.write_data(
      name, size, [](std::span<std::byte> room) { std::ranges::fill(room, std::byte{1}); });
  const bool is_on_first = made.hosts == std::vector{HostNamespaces::name(0)};
  const std::string there = HostNamespaces::name(is_on_first ? 1 : 0);
  const auto start = Clock::now();
  (void)client.copy_data(name, {.host = there});
  for (;;) {
    const DataInfo now = client.describe_data(name);
    if (std::ranges::find(now.hosts, there) != now.hosts.end()) break;
    if (Clock::now() > start + patience)
      return fail(ErrorCode::timed_out, "the copy does not come");
    std::this_thread::sleep_for(look_again);
  }
  const double took = milliseconds_since(start);
  client.remove_data(name);
  return std::vector{took};
}

/// The life of a process that measures the rival, and says how long it took.
Result<void> send_raw(int here, int there, int server_core, int report) {
  if (::setns(here, CLONE_NEWNET | CLONE_NEWNS) != 0) return fail_errno("setns");
  auto raw = RawUcxEcho::start({.transports = transports_between_hosts,
                                .server_core = server_core,
                                .largest = size,
                                .devices = "link0",
                                .server_namespace = there,
                                .one_way = true});
  if (!raw) return fail(std::move(raw.error()));
  const auto took = warm_calls(1, TickRate::measure(), [&] { return raw->round_trip(size); });
  if (!took) return fail(took.error());
  return say(report, std::to_string(took->front() / 1000));
}

Values raw_message(const UniqueFd& here, const UniqueFd& there, const std::pair<int, int>& cores) {
  auto child = ForkedEnd::start({.name = "raw UCX", .core = cores.first}, [&](int report) {
    return send_raw(here.get(), there.get(), cores.second, report);
  });
  if (!child) return fail(std::move(child.error()));
  const auto took = child->hear();
  if (!took) return fail(took.error());
  return std::vector{std::stod(*took)};
}

void measure_copies(Bench& bench, Client& client, const HostNamespaces& hosts,
                    const std::pair<int, int>& cores) {
  const UniqueFd here = place_of(hosts, 0);
  const UniqueFd there = place_of(hosts, 1);
  bench.compare(
      {.row = "copy of 256 MiB between hosts",
       .unit = "ms",
       .round = [&] { return copy(client); },
       .baseline = raw_messages(bench),
       .baseline_round = [&] { return raw_message(here, there, cores); },
       .promises = {{Statistic::p50, {Target::Direction::at_most, 1 / promised_bandwidth}}}});
}

// ---- over HTTP ----

void measure_http(Bench& bench, const FarSite& site, Client& client, const HostNamespaces& hosts) {
  const std::string listen = std::string(HostNamespaces::here) + ":8080";  // of our own namespace
  const NginxFiles nginx = must(NginxFiles::start({.listen = listen}));
  measure_http_files(bench, client, nginx,
                     {.what = "256 MiB over HTTP from another host",
                      .size = size,
                      .token = site.gateway().token(),
                      .entry = hosts.entry(curls_host),
                      .our_root = site.gateway().url(),
                      .nginx_root = "http://" + listen});
}

int run(Bench& bench) {
  const std::pair<int, int> cores = two_cores();
  const auto hosts = must(HostNamespaces::create(executors));
  const auto site =
      must(FarSite::start(hosts, {.executors = executors,
                                  .flags = {"--cores", "1", "--data-memory", "600MiB"},
                                  .apart = false}));
  // What they start is bound with them.
  for (const pid_t process : site->processes(0)) (void)pin(process, cores.first);
  for (const pid_t process : site->processes(1)) (void)pin(process, cores.second);
  Client client = site->client();
  measure_copies(bench, client, hosts, cores);
  measure_http(bench, *site, client, hosts);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("remote_data", argc, argv);
  return orchid::bench::run_benchmark(bench, orchid::bench::run);
}
