#include "zygote.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "foundation/log.h"
#include "foundation/sockets.h"
#include "jit/linker.h"
#include "transport/ucx_lane.h"
#include "worker/messages.h"
#include "worker_process.h"

namespace orchid::executor {
namespace {

struct Child {
  pid_t pid = -1;  // 0 in the child
  UniqueFd pidfd;
};

/// The child's parent is ours, the agent: it learns of the child's end, and the child ends with it.
Child fork_for_parent() {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = CLONE_PARENT | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  Child child;
  child.pid = static_cast<pid_t>(pid);
  if (pid > 0) child.pidfd.reset(pidfd);
  return child;
}

std::size_t descriptors_of(const Birth& birth) { return birth.device_lane ? 8 : 5; }

void bear(int control, const Birth& birth, Packet& packet, const TickRate& rate, int agent_pid) {
  std::vector<UniqueFd>& from = packet.descriptors;
  BirthDescriptors descriptors{.control = std::move(from[0]),
                               .lane_memory = std::move(from[1]),
                               .wake_worker = std::move(from[2]),
                               .wake_client = std::move(from[3]),
                               .status_page = std::move(from[4])};
  if (birth.device_lane) {
    descriptors.device_memory = std::move(from[5]);
    descriptors.wake_device = std::move(from[6]);
    descriptors.wake_from_device = std::move(from[7]);
  }
  const Child child = fork_for_parent();
  if (child.pid == 0) {
    ::close(control);
    live_as_worker(birth, std::move(descriptors), rate, agent_pid);
  }
  if (child.pid < 0) {
    (void)send_packet(
        control, encode(BirthFailed{birth.worker, std::string("clone3: ") + std::strerror(errno)}));
    return;
  }
  (void)send_packet(control, encode(Born{birth.worker, child.pid}), {child.pidfd.get()});
}

}  // namespace

int run_zygote(const ZygoteOptions& options) {
  const int control = options.control;
  const int agent_pid = ::getppid();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != agent_pid) return 1;
  ::prctl(PR_SET_NAME, "orchid-zygote");
  prepare_linker();
  if (options.remote)
    if (auto loaded = transport::load_ucx(); !loaded)
      log::error("event=no_remote_lanes reason=\"{}\"", loaded.error().message);
  const TickRate rate = TickRate::measure();
  if (!send_packet(control, encode(ZygoteReady{}))) return 1;
  while (true) {
    auto packet = receive_packet(control, true);
    if (!packet) return 0;  // the agent has gone
    auto message = parse_worker_message((*packet)->text);
    const Birth* birth = message ? std::get_if<Birth>(&*message) : nullptr;
    if (birth == nullptr || (*packet)->descriptors.size() != descriptors_of(*birth)) {
      log::error("event=bad_message from=agent text={}", (*packet)->text);
      continue;
    }
    bear(control, *birth, **packet, rate, agent_pid);
  }
}

}  // namespace orchid::executor
