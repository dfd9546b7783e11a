#include "foundation/child_setup.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string_view>

namespace orchid {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void default_signals() {
  for (int number = 1; number < SIGRTMIN; ++number)
    if (number != SIGKILL && number != SIGSTOP) ::signal(number, SIG_DFL);
}

void unblock_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void read_nothing() {
  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  if (null > STDERR_FILENO) ::close(null);
}

void be_first_to_lose_memory() {
  constexpr std::string_view adjustment = "500";
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!::write(file, adjustment.data(), adjustment.size());
  ::close(file);
}

}  // namespace orchid
