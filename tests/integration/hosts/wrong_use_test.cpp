// What a site may do to a program: limits, and clocks that do not agree.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "clear_error.h"
#include "site.h"

namespace orchid::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string time_namespace(pid_t process) {
  const std::string link =
      process == 0 ? "/proc/self/ns/time" : "/proc/" + std::to_string(process) + "/ns/time";
  std::error_code none;
  return std::filesystem::read_symlink(link, none).string();
}

bool has_mapped(pid_t process, const std::string& library) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

/// Of Debian's package libfaketime; the dynamic loader knows what $LIB is on this machine.
constexpr const char* wall_clock_faker = "/usr/$LIB/faketime/libfaketime.so.1";

/// Host 0 has been up an hour longer than we; on host 1 it is an hour later.
Site::Options clocks_an_hour_apart() {
  Site::Options options;
  options.executor_wrappers[0] = {"unshare", "--time", "--monotonic", "3600", "--boottime", "3600"};
  options.executor_wrappers[1] = {"env", std::string("LD_PRELOAD=") + wall_clock_faker,
                                  "FAKETIME=+1h", "FAKETIME_DONT_FAKE_MONOTONIC=1",
                                  "FAKETIME_DISABLE_SHM=1"};
  return options;
}

void check_time_in_calls(Lease& lease) {
  const LeasedFunction sleeps = lease.module(module_bytes("sleeps")).function();
  const LeasedFunction loops = lease.module(module_bytes("loops")).function();
  CHECK(sleeps.invoke("50", {.deadline = seconds(10)}).text() == "50");
  const auto start = std::chrono::steady_clock::now();
  check_clear(error_of([&] { (void)loops.invoke("", {.deadline = milliseconds(300)}); }),
              ErrorKind::deadline_exceeded);
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(took >= milliseconds(300));
  CHECK(took < seconds(5));
}

}  // namespace

TEST_CASE("a lease over the user's quota says what the quota is, and what is held") {
  if (!hosts) return;
  Site site({.gateway_flags = {"--leased-workers", "1"}});
  Client client = site.client();
  Lease first = client.lease({.workers = 1});
  const Error error = error_of([&] { (void)client.lease({.workers = 1}); });
  check_clear(error, ErrorKind::quota);
  CHECK(error.message().find("your leases hold 1 of the 1 workers") != std::string::npos);
  CHECK(error.http_status() == 429);
  CHECK(error.retryable());
  first.release();
  CHECK(client.lease({.workers = 1}).workers() == 1);
}

TEST_CASE("a lease over what all hosts have says how much there is") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  check_clear(error_of([&] { (void)client.lease({.workers = 4'000}); }), ErrorKind::no_capacity);
  const Error error = error_of([&] { (void)client.lease({.cores_per_worker = 4'000}); });
  check_clear(error, ErrorKind::no_capacity);
  CHECK(error.message().find("no executor can provide such workers") != std::string::npos);
}

TEST_CASE("clocks of two hosts an hour apart change nothing: what travels is durations") {
  if (!hosts) return;
  Site site(clocks_an_hour_apart());
  REQUIRE(time_namespace(site.executor(0)) != time_namespace(0));
  REQUIRE_MESSAGE(has_mapped(site.executor(1), "libfaketime"), "run `apt install libfaketime`");
  Client client = site.client();
  for (unsigned host = 0; host < Site::host_count; ++host) {
    CAPTURE(host);
    Lease lease = client.lease({.workers = 1,
                                .duration = seconds(1),
                                .constraints = {.host = HostNamespaces::name(host)}});
    check_time_in_calls(lease);
    // Renewed, and so on the same worker, long after its first end.
    const LeasedFunction pid = lease.module(module_bytes("reports_pid")).function();
    const std::string worker(pid.invoke("").text());
    for (const auto start = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() < start + seconds(3);)
      REQUIRE(pid.invoke("").text() == worker);
    lease.release();
    CHECK(error_of([&] { (void)pid.invoke(""); }).kind() == ErrorKind::lease_ended);
  }
  // Over HTTP, where the gateway counts.
  client.deploy("sleeps", module_bytes("sleeps"));
  client.deploy("loops", module_bytes("loops"));
  CHECK(client.invoke("sleeps", "50", {.deadline = seconds(20)}).text() == "50");
  check_clear(error_of([&] { (void)client.invoke("loops", "", {.deadline = milliseconds(300)}); }),
              ErrorKind::deadline_exceeded);
}

}  // namespace orchid::tests
