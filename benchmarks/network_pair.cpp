#include "network_pair.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

namespace orchid::bench {
namespace {

Result<void> run(const std::string& command) {
  if (std::system(command.c_str()) != 0)  // NOLINT(concurrency-mt-unsafe): before any thread
    return fail(ErrorCode::system, "failed: " + command);
  return {};
}

/// Into a network namespace of our own. UCX looks for devices in /sys, which shows those of the
/// namespace that mounted it.
bool isolate(int more_flags) {
  return ::unshare(CLONE_NEWNET | CLONE_NEWNS | more_flags) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;
}

}  // namespace

Result<NetworkPair> NetworkPair::create() {
  if (!isolate(::geteuid() == 0 ? 0 : CLONE_NEWUSER)) return fail_errno("make a network namespace");
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return fail_errno("pipe");
  const UniqueFd heard(ready[0]);
  UniqueFd said(ready[1]);
  const pid_t keeper = ::fork();
  if (keeper < 0) return fail_errno("fork");
  if (keeper == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char done = isolate(0) ? '1' : '0';
    [[maybe_unused]] const ssize_t n = ::write(said.get(), &done, 1);
    for (;;) ::pause();
  }
  NetworkPair pair(keeper, UniqueFd());
  said.reset();
  char done = '0';
  if (::read(heard.get(), &done, 1) != 1 || done != '1')
    return fail(ErrorCode::system, "no second network namespace");
  const std::string pid = std::to_string(keeper);
  pair.far_.reset(static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0)));
  if (!pair.far_) return fail_errno("pidfd_open");
  const std::string name = device;
  const std::string far = "nsenter -t " + pid + " -n -m ";
  // The kernel tells some time later that a cable is plugged in; before that UCX does not use it.
  const std::string wait_for_carrier = "sh -c 'for i in $(seq 500); do grep -q up /sys/class/net/" +
                                       name + "/operstate && exit 0; sleep 0.01; done; exit 1'";
  for (const std::string& command :
       {"ip link add " + name + " type veth peer name " + name + " netns " + pid,
        "ip addr add " + std::string(here) + "/24 dev " + name, "ip link set " + name + " up",
        std::string("ip link set lo up"),
        far + "ip addr add " + std::string(there) + "/24 dev " + name,
        far + "ip link set " + name + " up", far + "ip link set lo up", wait_for_carrier,
        far + wait_for_carrier})
    if (auto done_command = run(command); !done_command)
      return fail(std::move(done_command.error()));
  return pair;
}

NetworkPair::NetworkPair(NetworkPair&& other) noexcept
    : keeper_(std::exchange(other.keeper_, -1)), far_(std::move(other.far_)) {}

NetworkPair::~NetworkPair() {
  if (keeper_ <= 0) return;
  ::kill(keeper_, SIGKILL);
  ::waitpid(keeper_, nullptr, 0);
}

Result<void> NetworkPair::enter_far_side() const {
  if (::setns(far_.get(), CLONE_NEWNET | CLONE_NEWNS) != 0)
    return fail_errno("enter a network namespace");
  return {};
}

}  // namespace orchid::bench
