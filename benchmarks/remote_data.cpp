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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "far_site.h"
#include "foundation/unique_fd.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "nginx_files.h"
#include "raw_ucx.h"

namespace orchid::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Values = Result<std::vector<double>>;
using tests::HostNamespaces;
using namespace std::chrono_literals;

constexpr const char* transports = "tcp,self";
constexpr double promised_bandwidth = 1.15;
constexpr unsigned executors = 2;  // on hosts 0 and 1
constexpr unsigned curls_host = 1;
constexpr std::size_t size = 256 << 20;
constexpr auto patience = 60s;
constexpr auto look_again = 500us;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

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
Result<void> send_raw(int here, int there, const std::vector<int>& cores, int report) {
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return pinned;
  if (::setns(here, CLONE_NEWNET | CLONE_NEWNS) != 0) return fail_errno("setns");
  auto raw = RawUcxEcho::start({.transports = transports,
                                .server_core = cores[1],
                                .largest = size,
                                .devices = "link0",
                                .server_namespace = there,
                                .one_way = true});
  if (!raw) return fail(std::move(raw.error()));
  if (auto warm = raw->round_trip(size); !warm) return warm;
  const auto start = Clock::now();
  if (auto done = raw->round_trip(size); !done) return done;
  const double took = milliseconds_since(start);
  if (::send(report, &took, sizeof(took), MSG_NOSIGNAL) < 0) return fail_errno("send");
  return {};
}

Values raw_message(const UniqueFd& here, const UniqueFd& there, const std::vector<int>& cores) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto sent = send_raw(here.get(), there.get(), cores, theirs.get());
    if (!sent) std::fprintf(stderr, "raw UCX: %s\n", sent.error().message.c_str());
    ::_exit(0);
  }
  theirs.reset();
  double took = 0;
  const bool told = ::recv(ours.get(), &took, sizeof(took), 0) == sizeof(took);
  ::waitpid(child, nullptr, 0);
  if (!told) return fail(ErrorCode::internal, "raw UCX has failed");
  return std::vector{took};
}

void measure_copies(Bench& bench, Client& client, const HostNamespaces& hosts,
                    const std::vector<int>& cores) {
  const UniqueFd here = place_of(hosts, 0);
  const UniqueFd there = place_of(hosts, 1);
  bench.compare(
      {.row = "copy of 256 MiB between hosts",
       .unit = "ms",
       .round = [&] { return copy(client); },
       .baseline = {"raw UCX active messages", bench.command_line(),
                    std::string("UCX_TLS=") + transports},
       .baseline_round = [&] { return raw_message(here, there, cores); },
       .promises = {{Statistic::p50, {Target::Direction::at_most, 1 / promised_bandwidth}}}});
}

// ---- over HTTP ----

void measure_http(Bench& bench, const FarSite& site, Client& client, const HostNamespaces& hosts) {
  const std::string listen = std::string(HostNamespaces::here) + ":8080";  // of our own namespace
  auto nginx = NginxFiles::start({.listen = listen});
  if (!nginx) throw std::runtime_error(nginx.error().message);
  const std::string file = nginx->directory() / "source";
  std::ofstream(file, std::ios::binary) << std::string(size, '\1');
  const std::string token = "Authorization: Bearer " + site.gateway().token();
  const std::string ours = site.gateway().url() + "/v1/data/sent";
  const std::string theirs = "http://" + listen + "/sent";
  const std::vector<std::string> entry = hosts.entry(curls_host);
  bench.compare(
      {.row = "PUT of 256 MiB over HTTP from another host",
       .unit = "ms",
       .round =
           [&] {
             auto took = timed_transfer({"-H", token, "-T", file, ours}, entry);
             client.remove_data("sent");
             return took;
           },
       .baseline = {"nginx, worker_processes 1, dav_methods PUT, files in /dev/shm", "curl -T", ""},
       .baseline_round =
           [&] {
             auto took = timed_transfer({"-T", file, theirs}, entry);
             std::filesystem::remove(nginx->files() / "sent");
             return took;
           },
       .promises = {}});
  for (const auto& made : {timed_transfer({"-H", token, "-T", file, ours}, entry),
                           timed_transfer({"-T", file, theirs}, entry)})
    if (!made) throw std::runtime_error(made.error().message);
  bench.compare({.row = "GET of 256 MiB over HTTP from another host",
                 .unit = "ms",
                 .round = [&] { return timed_transfer({"-H", token, ours}, entry); },
                 .baseline = {"nginx, worker_processes 1, sendfile, files in /dev/shm", "curl", ""},
                 .baseline_round = [&] { return timed_transfer({theirs}, entry); },
                 .promises = {}});
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  auto hosts = HostNamespaces::create(executors);
  if (!hosts || cores.size() < 2) {
    std::fprintf(stderr, "remote_data: %s\n",
                 hosts ? "two cores are needed" : hosts.error().message.c_str());
    return 3;
  }
  auto site = FarSite::start(*hosts, {.executors = executors,
                                      .flags = {"--cores", "1", "--data-memory", "600MiB"},
                                      .apart = false});
  if (!site) {
    std::fprintf(stderr, "remote_data: %s\n", site.error().message.c_str());
    return 3;
  }
  // What they start is bound with them.
  for (unsigned host = 0; host < executors; ++host)
    for (const pid_t process : (*site)->processes(host)) (void)pin(process, cores[host]);
  Client client = (*site)->client();
  measure_copies(bench, client, *hosts, cores);
  measure_http(bench, **site, client, *hosts);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("remote_data", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remote_data: %s\n", error.what());
    return 3;
  }
}
