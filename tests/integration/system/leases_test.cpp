// Leases of a whole Orchid: the gateway grants them, and is not needed for the calls.
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "clear_error.h"
#include "system_fixture.h"
#include "tcp_relay.h"

namespace orchid::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Waits for `condition`, and looks at it seldom enough for a request each time.
template <typename Condition>
bool eventually(Condition condition, seconds patience = seconds(20)) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

/// Empty when the gateway does not know it, or does not answer.
Json described(SystemFixture& system, const std::string& lease) {
  try {
    return Json::parse(system.client().get("/v1/leases/" + lease));
  } catch (const Error&) {
    return {};
  }
}

unsigned cores_of(SystemFixture& system) {
  const Json hosts = Json::parse(system.client().get("/v1/hosts"));
  std::size_t cores = 0;
  for (const Json& host : hosts.at("hosts"))
    for (const Json& executor : host.at("executors")) cores += executor.at("cores").size();
  return static_cast<unsigned>(cores);
}

/// A program that has all of Orchid's cores, and is killed, here at the latest.
class Holder {
 public:
  Holder(SystemFixture& system, unsigned cores) {
    std::string command = "exec env";
    for (const std::string& setting : system.environment()) command += " " + setting;
    command += " " PROGRAMS "/lease_holder " + std::to_string(cores);
    out_ = ::popen(command.c_str(), "re");
    REQUIRE(out_ != nullptr);
    REQUIRE(std::fscanf(out_, "%d", &process_) == 1);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { kill(); }
  void kill() {
    if (out_ == nullptr) return;
    if (process_ > 0) ::kill(process_, SIGKILL);
    ::pclose(std::exchange(out_, nullptr));
  }

 private:
  std::FILE* out_ = nullptr;
  pid_t process_ = -1;
};

}  // namespace

TEST_CASE_FIXTURE(SystemFixture,
                  "a lease with separate processes keeps modules apart, and shows it") {
  deploy("reports_pid");
  deploy("reports_pid_again");
  for (const bool separate : {true, false}) {
    CAPTURE(separate);
    Lease lease = client().lease({.workers = 1, .separate_processes = separate});
    CHECK(described(*this, lease.id()).at("separate_processes") == separate);
    const LeasedFunction first = lease.function("reports_pid");
    const LeasedFunction second = lease.function("reports_pid_again");
    std::set<std::string> pids;
    std::set<std::string> others;
    for (int i = 0; i < 5; ++i) {
      pids.emplace(first.invoke("").text());
      others.emplace(second.invoke("").text());
    }
    if (separate)
      for (const std::string& pid : pids) CHECK_FALSE(others.contains(pid));
    else
      CHECK(pids == others);
  }
}

TEST_CASE_FIXTURE(SystemFixture, "a program that is killed leaves its cores to others") {
  deploy("counts_calls");
  const unsigned cores = cores_of(*this);
  REQUIRE(cores > 0);
  Holder holder(*this, cores);
  Client user = client();
  const LeaseOptions all{.workers = cores, .within = milliseconds(100)};
  check_clear(error_of([&] { (void)user.lease(all); }), ErrorKind::no_capacity);
  holder.kill();
  Lease lease = user.lease({.workers = cores, .within = seconds(20)});
  CHECK(lease.workers() == cores);
  CHECK(lease.function("counts_calls").invoke("").text() == "1");
}

TEST_CASE_FIXTURE(SystemFixture, "a lease that nobody claims ends, and others have its cores") {
  deploy("counts_calls");
  const unsigned cores = cores_of(*this);
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  const Http given =
      http("POST", "/v1/leases", Json{{"workers", cores}, {"boot_id", boot_id}}.dump());
  REQUIRE_MESSAGE(given.status / 100 == 2, given.body);
  const std::string id = Json::parse(given.body).at("id");
  Client user = client();
  check_clear(error_of([&] { (void)user.lease({.within = milliseconds(100)}); }),
              ErrorKind::no_capacity);
  Lease lease = user.lease({.workers = cores, .within = seconds(40)});
  CHECK(lease.workers() == cores);
  CHECK(described(*this, id).is_null());
}

TEST_CASE_FIXTURE(SystemFixture, "clients are shared by threads") {
  deploy("counts_calls");
  Client user = client();
  std::atomic<int> good = 0;
  std::vector<std::jthread> threads;
  for (int number = 0; number < 8; ++number)
    threads.emplace_back([&user, &good, number] {
      const std::string name = "shared-" + std::to_string(number);
      for (int round = 0; round < 5; ++round) {
        (void)user.deploy_file(name, test_function("counts_calls"));
        if (user.invoke(name, "").text().empty()) return;
        // All of them at once are more than there is room for.
        Lease lease = user.lease({.within = seconds(60)});
        if (lease.function(name).invoke("").text() != "1") return;
        lease.release();
        ++good;
      }
    });
  threads.clear();
  CHECK(good == 8 * 5);
}

TEST_CASE_FIXTURE(SystemFixture, "a lease is taken, called, renewed and given back") {
  deploy("reports_pid");
  Client user = client();
  Lease lease = user.lease({.workers = 1, .duration = seconds(1)});
  CHECK(lease.workers() == 1);
  CHECK(described(*this, lease.id()).at("state") == "open");
  // No executor has this code yet: it comes from the gateway, by way of this program.
  const LeasedFunction pid = lease.function("reports_pid");
  const std::string worker(pid.invoke("").text());
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < start + seconds(3))  // long after its first end
    REQUIRE(pid.invoke("").text() == worker);
  CHECK(described(*this, lease.id()).at("expires_in_ms") <= 1000);
  const std::string id = lease.id();
  lease.release();
  CHECK(error_of([&] { (void)pid.invoke(""); }).kind() == ErrorKind::lease_ended);
  CHECK(eventually([&] { return described(*this, id).is_null(); }));
}

TEST_CASE_FIXTURE(SystemFixture, "a worker has the cores and the memory that its lease states") {
  deploy("reports_place");
  deploy("allocates_new");
  Client user = client();
  Lease lease =
      user.lease({.workers = 1, .cores_per_worker = 2, .memory = std::uint64_t{64} << 20});
  const std::string place(lease.function("reports_place").invoke("").text());
  CHECK_MESSAGE(contains(place, " -1 2 "), place);  // no core of its own, two in all
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of(
      [&] { (void)lease.function("allocates_new").invoke("", {.deadline = seconds(20)}); });
  check_clear(error, ErrorKind::limit_exceeded);
  CHECK(std::chrono::steady_clock::now() - start < seconds(10));
  CHECK(contains(error.hint(), "memory"));
}

TEST_CASE_FIXTURE(SystemFixture, "a worker is like the best alternative that there is") {
  deploy("reports_place");
  Client user = client();
  Lease lease =
      user.lease({.alternatives = {{.gpus = 1}, {.cores = 2, .memory = std::uint64_t{64} << 20}}});
  const std::string place(lease.function("reports_place").invoke("").text());
  CHECK_MESSAGE(contains(place, " -1 2 "), place);
  const LeaseCapacity capacity = lease.capacity();
  REQUIRE(capacity.granted.size() == 1);
  CHECK(capacity.granted[0].cores == 2);
  CHECK(capacity.granted[0].memory == std::uint64_t{64} << 20);
  CHECK(capacity.granted[0].gpus.empty());
  lease.release();
  const Error error = error_of([&] { (void)user.lease({.alternatives = {{.gpus = 1}}}); });
  check_clear(error, ErrorKind::no_capacity);
  CHECK(contains(error.message(), "too few GPUs free"));
}

TEST_CASE_FIXTURE(SystemFixture, "calls go on while the gateway is killed, on the same worker") {
  deploy("reports_pid");
  Client user = client();
  Lease lease = user.lease({.workers = 1, .duration = seconds(3)});
  const LeasedFunction pid = lease.function("reports_pid");
  std::atomic<bool> stopping = false;
  std::atomic<unsigned> calls = 0;
  std::set<std::string> workers;
  std::string failed;
  std::thread caller([&] {
    while (!stopping && failed.empty()) {
      try {
        workers.insert(std::string(pid.invoke("").text()));
        ++calls;
      } catch (const Error& error) {
        failed = error.what();
      }
    }
  });
  for (const pid_t gateway : wait_for(system(), "orchid-gateway")) ::kill(gateway, SIGKILL);
  CHECK(eventually([&] { return !described(*this, lease.id()).is_null(); }));
  // Renewed with the new gateway, again and again.
  const auto start = std::chrono::steady_clock::now();
  CHECK(eventually([&] { return std::chrono::steady_clock::now() > start + seconds(5); }));
  const Json after = described(*this, lease.id());
  CHECK(after.at("state") == "open");
  CHECK(after.at("workers").size() == 1);
  stopping = true;
  caller.join();
  CHECK(failed == "");
  CHECK(workers.size() == 1);
  CHECK(calls > 1000);
}

TEST_CASE_FIXTURE(SystemFixture, "a lease that cannot be renewed ends, and says so") {
  deploy("counts_calls");
  const std::string& address = system().address();
  TcpRelay relay(std::stoi(address.substr(address.rfind(':') + 1)));
  Client user({.gateway = "http://" + relay.address(), .token = system().token()});
  Lease lease = user.lease({.workers = 1, .duration = seconds(2)});
  const LeasedFunction counts = lease.function("counts_calls");
  relay.cut();
  CHECK(counts.invoke("").text() == "1");
  Error last({.message = "no call has failed"});
  CHECK(eventually([&] {
    try {
      (void)counts.invoke("", {.deadline = seconds(2)});
    } catch (const Error& error) {
      last = error;
    }
    return last.kind() == ErrorKind::lease_ended;
  }));
  check_clear(last, ErrorKind::lease_ended);
}

TEST_CASE_FIXTURE(SystemFixture, "a lease that is closed by another program ends") {
  deploy("counts_calls");
  Client user = client();
  Lease lease = user.lease({.workers = 1});
  const LeasedFunction counts = lease.function("counts_calls");
  CHECK(counts.invoke("").text() == "1");
  CHECK(http("DELETE", "/v1/leases/" + lease.id()).status / 100 == 2);
  CHECK(eventually([&] {
    try {
      (void)counts.invoke("");
      return false;
    } catch (const Error& error) {
      return error.kind() == ErrorKind::lease_ended;
    }
  }));
}

TEST_CASE_FIXTURE(SystemFixture, "what a lease cannot be, or do, is said with its kind") {
  deploy("counts_calls");
  REQUIRE(orchid({"deploy", std::string(EXAMPLES) + "/dot.bc", "--name", "dot"}).status == 0);
  Client user = client();
  check_clear(error_of([&] { (void)user.lease({.workers = 4'000}); }), ErrorKind::no_capacity);
  // Workers elsewhere listen for it; what does not lead to them is in integration.hosts.
  if (!are_workers_elsewhere())
    check_clear(error_of([&] { (void)user.lease({.lane = "ucx"}); }), ErrorKind::no_capacity);
  check_clear(error_of([&] { (void)user.lease({.constraints = {.host = "elsewhere"}}); }),
              ErrorKind::no_capacity);
  check_clear(error_of([&] { (void)user.lease({.duration = milliseconds(1)}); }),
              ErrorKind::bad_request);
  Lease lease = user.lease({.workers = 1});
  check_clear(error_of([&] { (void)lease.function<int(int)>("dot"); }),
              ErrorKind::signature_mismatch);
  check_clear(error_of([&] { (void)lease.function("missing"); }), ErrorKind::not_found);
  CHECK(lease.function("counts_calls").invoke("").text() == "1");
  Client nobody({.gateway = "http://127.0.0.1:1", .token = "x"});
  check_clear(error_of([&] { (void)nobody.lease(); }), ErrorKind::unreachable);
}

}  // namespace orchid::tests
