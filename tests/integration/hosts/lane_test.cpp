// The lane between hosts alone, when the network swallows everything: nobody is told that the other
// host has gone.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

#include "site.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;
using orchid::tests::HostNamespaces;
using orchid::tests::hosts;
using orchid::tests::Unplugged;

/// Six seconds, as docs/PROTOCOL.md has it, and what the kernel's timers add when they back off.
constexpr auto noticed_within = 9s;

/// Moves this process, which has one thread, to where another one lives.
bool move_to(const std::string& process) {
  for (const auto& [name, kind] : {std::pair{"net", CLONE_NEWNET}, std::pair{"mnt", CLONE_NEWNS}}) {
    const UniqueFd there(
        ::open(("/proc/" + process + "/ns/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!there || ::setns(there.get(), kind) != 0) return false;
  }
  return true;
}

/// `job.address`: a process of the host that it moves to, and an address there.
void live_elsewhere(const Child::Job& job) {
  const auto space = job.address.find(' ');
  if (!move_to(job.address.substr(0, space))) ::_exit(1);
  UcxContext own = UcxContext::create({.devices = "link0"}).value();
  auto listener = UcxLaneListener::listen(own, {.address = job.address.substr(space + 1),
                                                .key = job.key,
                                                .geometry = {8_MiB, 8_MiB}})
                      .value();
  const std::string& address = listener.address();
  if (::send(job.report, address.data(), address.size(), 0) < 0) ::_exit(1);
  auto worker = listener.accept(in(20s));
  if (!worker) ::_exit(1);
  serve(*worker, true);  // until the lane has ended
  ::_exit(42);
}

struct RemoteWorker {
  explicit RemoteWorker(unsigned host)
      : child(Child::start_worker(live_elsewhere,
                                  hosts->process(host) + " " + HostNamespaces::address(host))) {}
  UcxLaneClient connect() {
    auto client = UcxLaneClient::connect(
        context, {.address = child.address(), .key = child.key(), .deadline = in(10s)});
    REQUIRE_MESSAGE(client.has_value(), client.error().message);
    return std::move(*client);
  }
  UcxContext context = UcxContext::create({.devices = "bridge0"}).value();
  Child child;
};

/// Its lane has ended, and it with it.
bool has_ended_well(const Child& child) {
  siginfo_t how{};
  return ::waitid(P_PID, static_cast<id_t>(child.pid()), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         how.si_pid == child.pid() && how.si_code == CLD_EXITED && how.si_status == 42;
}

void check_noticed(UcxLaneClient& client, std::chrono::steady_clock::time_point start) {
  const Failure end = end_of(client);
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(end.code == ErrorCode::unreachable);
  CHECK(end.message.find('\n') == std::string::npos);
  CHECK(took < noticed_within);
}

}  // namespace

TEST_CASE("a host that falls silent is noticed by both ends of a lane, idle or not") {
  if (!hosts) return;
  RemoteWorker idle(1);
  RemoteWorker busy(1);
  UcxLaneClient idle_client = idle.connect();
  UcxLaneClient busy_client = busy.connect();
  for (UcxLaneClient* client : {&idle_client, &busy_client}) {
    send(*client, pattern(1000, 1));
    const auto response = answer_asleep(*client);
    REQUIRE(response.has_value());
    client->release(*response);
  }
  const Unplugged silence(1);
  const auto start = std::chrono::steady_clock::now();
  send(busy_client, pattern(4 << 20, 2));  // on its way for ever
  auto other = std::async(std::launch::async, [&] { check_noticed(busy_client, start); });
  check_noticed(idle_client, start);
  other.get();
  for (RemoteWorker* worker : {&idle, &busy})
    CHECK(orchid::tests::eventually([&] { return has_ended_well(worker->child); }, 1s));
  CHECK(std::chrono::steady_clock::now() - start < noticed_within);
}

}  // namespace orchid::transport
