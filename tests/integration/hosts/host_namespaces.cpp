#include "host_namespaces.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "foundation/unique_fd.h"

namespace orchid::tests {
namespace {

Result<void> run(const std::string& command) {
  if (std::system(command.c_str()) != 0)  // NOLINT(concurrency-mt-unsafe): before any thread
    return fail(ErrorCode::unsupported, "failed: " + command);
  return {};
}

/// A command that waits for a cable: the kernel tells some time later that it is plugged in; before
/// that UCX does not use it.
std::string wait_for_link(const std::string& device) {
  return "sh -c 'for i in $(seq 500); do grep -q up /sys/class/net/" + device +
         "/operstate && exit 0; sleep 0.01; done; exit 1'";
}

/// Into a network namespace of our own. UCX looks for devices in /sys, which shows those of the
/// namespace that mounted it.
bool isolate() {
  return ::unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;
}

/// A process that lives in a namespace of its own until we end.
Result<pid_t> start_keeper(const std::string& name) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("pipe");
  const UniqueFd heard(ends[0]);
  UniqueFd said(ends[1]);
  const pid_t keeper = ::fork();
  if (keeper < 0) return fail_errno("fork");
  if (keeper == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool done = isolate() && ::sethostname(name.c_str(), name.size()) == 0;
    if (!done || ::write(said.get(), "1", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  said.reset();
  char done = '0';
  if (::read(heard.get(), &done, 1) == 1) return keeper;
  ::waitpid(keeper, nullptr, 0);
  return fail(ErrorCode::unsupported, "no network namespace for a host");
}

}  // namespace

Result<HostNamespaces> HostNamespaces::create(unsigned hosts) {
  if (!isolate()) return fail(ErrorCode::unsupported, "no network namespace of our own");
  HostNamespaces made{{}};
  std::vector<std::string> commands{"ip link set lo up", "ip link add bridge0 type bridge",
                                    "ip addr add " + std::string(here) + "/24 dev bridge0",
                                    "ip link set bridge0 up"};
  for (unsigned host = 0; host < hosts; ++host) {
    auto keeper = start_keeper(name(host));
    if (!keeper) return fail(std::move(keeper.error()));
    made.keepers_.push_back(*keeper);
    const std::string pid = std::to_string(*keeper);
    const std::string there = "nsenter -t " + pid + " -n -m ";
    for (const std::string& command :
         {"ip link add " + name(host) + " type veth peer name link0 netns " + pid,
          "ip link set " + name(host) + " master bridge0 up", there + "ip link set lo up",
          there + "ip addr add " + address(host) + "/24 dev link0", there + "ip link set link0 up",
          there + wait_for_link("link0")})
      commands.push_back(command);
  }
  commands.push_back(wait_for_link("bridge0"));
  for (const std::string& command : commands)
    if (auto done = run(command); !done) return fail(std::move(done.error()));
  return made;
}

HostNamespaces::~HostNamespaces() {
  for (const pid_t keeper : keepers_) {
    ::kill(keeper, SIGKILL);
    ::waitpid(keeper, nullptr, 0);
  }
}

std::vector<std::string> HostNamespaces::entry(unsigned host) const {
  return {"nsenter", "-t", std::to_string(keepers_.at(host)), "-n", "-m", "-u", "--"};
}

Result<void> HostNamespaces::unplug(unsigned host) {
  return run("ip link set " + name(host) + " down");
}

Result<void> HostNamespaces::plug_in(unsigned host) const {
  if (auto done = run("ip link set " + name(host) + " up"); !done) return done;
  return run("nsenter -t " + process(host) + " -n -m " + wait_for_link("link0"));
}

}  // namespace orchid::tests
