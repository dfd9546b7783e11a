// An executor and all that it starts stay inside its grant, and stand behind everybody else.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "colocation_site.h"
#include "foundation/files.h"
#include "harness/machine.h"
#include "home_group.h"
#include "orchid/lease.h"

namespace orchid::tests {
namespace {

using bench::ChildProcess;

/// Who gives way to everybody may have to wait while others use this machine.
constexpr std::chrono::seconds idle_patience{100};

std::string name_of(pid_t pid) {
  std::string name = text_of("/proc/" + std::to_string(pid) + "/comm");
  return name.substr(0, name.find('\n'));
}

std::set<int> cores_of(pid_t pid) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::set<int> cores;
  if (::sched_getaffinity(pid, sizeof(mask), &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) cores.insert(core);
  return cores;
}

/// The executor, zygote, both compilers and at least one worker, however long they take to come.
std::vector<pid_t> family_of(const ChildProcess& executor) {
  std::vector<pid_t> family;
  const bool complete = eventually(
      [&] {
        family = bench::process_tree(executor.pid());
        std::map<std::string, int> names;
        for (const pid_t pid : family) ++names[name_of(pid)];
        return names["orchid-executor"] == 1 && names["orchid-zygote"] == 1 &&
               names["orchid-compiler"] >= 2 && names["orchid-worker"] >= 1;
      },
      idle_patience);
  REQUIRE(complete);
  return family;
}

/// The second core, so that the first is somebody else's.
int granted_core() {
  const auto cores = bench::allowed_cores();
  REQUIRE_MESSAGE(cores.size() >= 2, "this test needs two cores");
  return cores[1];
}

/// Where a group may be divided for `controller`; otherwise says that nothing is tested.
std::optional<HomeGroup> home_for(const std::string& controller) {
  auto home = HomeGroup::make(controller);
  if (!home) MESSAGE("not tested: no control group may be divided here for its " << controller);
  return home;
}

void end_of_grant(ChildProcess& executor) {
  REQUIRE(::kill(executor.pid(), SIGTERM) == 0);
  const auto status = executor.wait(std::chrono::seconds(20));
  REQUIRE(status.has_value());
  CHECK(*status == 0);
}

}  // namespace

TEST_CASE("every process of a grant is on the grant's cores, and gives way to everybody") {
  ColocationSite site;
  const int core = granted_core();
  ChildProcess executor = site.start_executor(
      {"--grant", "pilot", "--job", "7", "--core-list", std::to_string(core)}, {}, idle_patience);
  for (const pid_t pid : family_of(executor)) {
    CAPTURE(name_of(pid));
    CHECK(cores_of(pid) == std::set{core});
    // The agent is to get the core from its own workers at once: it has the least weight instead.
    if (pid == executor.pid()) {
      CHECK(::sched_getscheduler(pid) == SCHED_OTHER);
      CHECK(::getsid(pid) == pid);
    } else {
      CHECK(::sched_getscheduler(pid) == SCHED_IDLE);
      CHECK(text_of("/proc/" + std::to_string(pid) + "/oom_score_adj") == "500\n");
    }
    const std::string session = text_of("/proc/" + std::to_string(pid) + "/autogroup");
    if (text_of("/proc/sys/kernel/sched_autogroup_enabled") == "1\n")
      CHECK(session.find("nice 19") != std::string::npos);
  }
  end_of_grant(executor);
}

TEST_CASE("a user's own executor runs like any program of the user") {
  ColocationSite site;
  ChildProcess executor = site.start_executor({"--core-list", std::to_string(granted_core())});
  for (const pid_t pid : family_of(executor)) {
    CAPTURE(name_of(pid));
    CHECK(::sched_getscheduler(pid) == SCHED_OTHER);
  }
  end_of_grant(executor);
}

TEST_CASE("a worker that is born later, and one that replaces another, is inside as well") {
  ColocationSite site;
  const int core = granted_core();
  site.deploy("segfaults");
  site.deploy("reports_pid");
  ChildProcess executor = site.start_executor(
      {"--core-list", std::to_string(core), "--scheduling", "idle"}, {}, idle_patience);
  CHECK(site.orchid({"invoke", "segfaults"}).status == 1);
  CHECK(site.orchid({"invoke", "reports_pid"}).status == 0);
  int workers = 0;
  for (const pid_t pid : family_of(executor)) {
    if (name_of(pid) != "orchid-worker") continue;
    ++workers;
    CHECK(cores_of(pid) == std::set{core});
    CHECK(::sched_getscheduler(pid) == SCHED_IDLE);
  }
  CHECK(workers >= 1);
  end_of_grant(executor);
}

TEST_CASE("where the cpuset may be divided, the grant has one of its own, as long as it lasts") {
  const auto home = home_for("cpuset");
  if (!home) return;
  ColocationSite site;
  const int core = granted_core();
  ChildProcess executor = site.start_executor(
      {"--grant", "pilot", "--scheduling", "normal", "--core-list", std::to_string(core)},
      home->launcher());
  const auto own = home->group_of(executor.pid());
  CHECK(text_of(own / "cpuset.cpus") == std::to_string(core) + "\n");
  std::set<pid_t> inside;
  std::istringstream processes(text_of(own / "cgroup.procs"));
  for (pid_t pid = 0; processes >> pid;) inside.insert(pid);
  for (const pid_t pid : family_of(executor)) CHECK_MESSAGE(inside.contains(pid), name_of(pid));
  CHECK(site.log().find("event=control_group cores=yes") != std::string::npos);
  end_of_grant(executor);
  CHECK_FALSE(std::filesystem::exists(own));
}

TEST_CASE("what a killed executor leaves behind is removed by the next one") {
  const auto home = home_for("cpuset");
  if (!home || home->version() != 1) return;  // of version 2 nobody else can be in that group
  ColocationSite site;
  const std::string core = std::to_string(granted_core());
  ChildProcess killed = site.start_executor({"--core-list", core});
  const auto left = home->group_of(killed.pid());
  const auto family = bench::process_tree(killed.pid());
  REQUIRE(::kill(killed.pid(), SIGKILL) == 0);
  REQUIRE(killed.wait(std::chrono::seconds(20)).has_value());
  CHECK(std::filesystem::exists(left));
  REQUIRE(eventually([&] {  // its children die with it
    return std::ranges::all_of(family, [](pid_t pid) { return ::kill(pid, 0) != 0; });
  }));
  ChildProcess next = site.start_executor({"--core-list", core});
  CHECK_FALSE(std::filesystem::exists(left));
  end_of_grant(next);
}

TEST_CASE("where no group may be made, affinity holds the grant together, and the log says why") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: it takes root to take the rights away");
    return;
  }
  // As in most containers: the trees are there to look at.
  ColocationSite site;
  const int core = granted_core();
  ChildProcess executor = site.start_executor(
      {"--grant", "pilot", "--core-list", std::to_string(core), "--memory", "1GiB"},
      {"unshare", "--mount", "sh", "-c",
       "grep cgroup /proc/self/mounts | while read -r _ tree _; do "
       "mount -o remount,bind,ro \"$tree\" || exit; done; exec \"$@\"",
       "sh"},
      idle_patience);
  CHECK(site.log().find("event=control_group_refused") != std::string::npos);
  CHECK(site.log().find("Read-only file system") != std::string::npos);
  CHECK(site.log().find("instead=\"affinity") != std::string::npos);
  for (const pid_t pid : family_of(executor)) {
    CAPTURE(name_of(pid));
    CHECK(cores_of(pid) == std::set{core});
    if (pid != executor.pid()) CHECK(::sched_getscheduler(pid) == SCHED_IDLE);
  }
  end_of_grant(executor);
}

TEST_CASE("a group of version 2 that others are in, too, is not divided, and the log says so") {
  const auto home = home_for("cpuset");
  if (!home) return;
  if (home->version() == 1) {
    MESSAGE("not tested: this machine has control groups of version 1");
    return;
  }
  ColocationSite site;
  const int core = granted_core();
  ChildProcess executor =
      site.start_executor({"--core-list", std::to_string(core)}, home->launcher("(sleep 1000 &)"));
  CHECK(site.log().find("holds other processes too") != std::string::npos);
  CHECK(site.log().find("delegated to the executor alone") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(home->group_of(executor.pid())));
  for (const pid_t pid : family_of(executor)) CHECK_MESSAGE(cores_of(pid) == std::set{core}, pid);
  end_of_grant(executor);
}

TEST_CASE("the memory of a grant holds for all its processes together") {
  const auto home = home_for("memory");
  if (!home) return;
  ColocationSite site;
  ChildProcess executor =
      site.start_executor({"--memory", "300MiB", "--cores", "2"}, home->launcher());
  const auto own = home->group_of(executor.pid());
  CHECK(text_of(own / home->memory_limit_file()) == std::to_string(300 << 20) + "\n");
  // Two workers of 150 MiB are all there is, and there are the compilers as well.
  Client client = site.client();
  Lease lease = client.lease({.workers = 2, .memory = 150 << 20});
  const auto module = read_file(std::filesystem::path(FUNCTIONS) / "fills_memory.bc", 1_MiB);
  REQUIRE(module.has_value());
  const LeasedFunction fills = lease.module(*module).function();
  std::vector<ReplyFuture> calls;
  for (int i = 0; i < 2; ++i) calls.push_back(fills.async("149 6000", {.at_most_once = true}));
  int lost = 0;
  for (ReplyFuture& call : calls) {
    try {
      (void)call.get();
    } catch (const Error& error) {
      ++lost;
      CHECK_MESSAGE(error.kind() == ErrorKind::worker_lost, error.what());
      CHECK_MESSAGE(std::string(error.what()).find("memory of its grant") != std::string::npos,
                    std::string(error.what()));
    }
  }
  CHECK(lost >= 1);  // not the executor, nor a compiler for good
  CHECK_NOTHROW((void)fills.invoke("10 0"));
  CHECK(site.log().find("event=memory_ran_out") != std::string::npos);
  end_of_grant(executor);
  CHECK_FALSE(std::filesystem::exists(own));
}

}  // namespace orchid::tests
