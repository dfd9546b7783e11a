#include "pilot/ending.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace orchid::pilot {

Ending::Ending(bool with_input) : with_input_(with_input) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC));
}

std::optional<Ending::Reason> Ending::comes_within(
    std::optional<std::chrono::milliseconds> time) const {
  std::array<pollfd, 2> come{
      pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = with_input_ ? STDIN_FILENO : -1, .events = 0, .revents = 0}};
  if (::poll(come.data(), come.size(), time ? static_cast<int>(time->count()) : -1) <= 0)
    return std::nullopt;
  return come[0].revents != 0 ? Reason::signal : Reason::input;
}

}  // namespace orchid::pilot
