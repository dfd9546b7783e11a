#include "zygote.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

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

void bear(int control, const Birth& birth, Packet& packet, const TickRate& rate, int agent_pid) {
  BirthDescriptors descriptors{std::move(packet.descriptors[0]), std::move(packet.descriptors[1]),
                               std::move(packet.descriptors[2]), std::move(packet.descriptors[3]),
                               std::move(packet.descriptors[4])};
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
    if (birth == nullptr || (*packet)->descriptors.size() != 5) {
      log::error("event=bad_message from=agent text={}", (*packet)->text);
      continue;
    }
    bear(control, *birth, **packet, rate, agent_pid);
  }
}

}  // namespace orchid::executor
