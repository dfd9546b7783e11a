#include "scheduling.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "foundation/log.h"
#include "foundation/unique_fd.h"

namespace orchid::executor {

Result<void> give_way() {
  constexpr int lowest = 19;
  if (::setpriority(PRIO_PROCESS, 0, lowest) != 0) return fail_errno("setpriority");
  if (::setsid() < 0 && ::getsid(0) != ::getpid()) {
    log::warn(
        "event=session_shared reason=\"the leader of a process group cannot leave its session: "
        "between sessions the kernel gives this one its full share\"");
    return {};
  }
  const UniqueFd group(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  if (!group) return {};  // a kernel that does not group by session
  // Users other than root may do so ten times a second, all together.
  const std::string weight = std::to_string(lowest);
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (::write(group.get(), weight.data(), weight.size()) >= 0) return {};
    if (errno != EAGAIN) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return fail_errno("lowering the weight of the session");
}

void enter_idle_class() noexcept {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
}

}  // namespace orchid::executor
