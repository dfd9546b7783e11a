#include "child_setup.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string_view>

namespace orchid::processes {

void reset_signals(bool ignored_too) {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) != 0) continue;  // one of the C library's own
    const bool stays = now.sa_handler == SIG_IGN && !ignored_too && number != SIGPIPE;
    if (now.sa_handler != SIG_DFL && !stays) ::signal(number, SIG_DFL);
  }
}

void be_first_to_lose_memory() {
  constexpr std::string_view adjustment = "500";
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!::write(file, adjustment.data(), adjustment.size());
  ::close(file);
}

}  // namespace orchid::processes
