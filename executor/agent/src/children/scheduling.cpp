#include "children/scheduling.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "foundation/log.h"
#include "foundation/unique_fd.h"

namespace orchid::executor {

namespace {

constexpr int lowest_weight = 19;
constexpr int full_weight = 0;

/// Errno, or 0; also where the kernel does not group by session.
int set_session_weight(int nice) {
  const UniqueFd group(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  if (!group) return 0;
  const std::string text = std::to_string(nice);
  return ::write(group.get(), text.data(), text.size()) >= 0 ? 0 : errno;
}

}  // namespace

Result<void> give_way() {
  if (::setsid() < 0 && ::getsid(0) != ::getpid()) {
    log::warn(
        "event=session_shared reason=\"the leader of a process group cannot leave its session: "
        "between sessions the kernel gives this one its full share\"");
    return {};
  }
  // Users other than root may do so ten times a second, all together.
  int error = set_session_weight(lowest_weight);
  for (int attempt = 0; attempt < 10 && error == EAGAIN; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    error = set_session_weight(lowest_weight);
  }
  if (error == 0) return {};
  return std::unexpected(
      system_failure(ErrorCode::system, "lowering the weight of the session", error));
}

void hurry() {
  if (::getsid(0) == ::getpid()) (void)set_session_weight(full_weight);
}

void enter_idle_class() noexcept {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
}

}  // namespace orchid::executor
