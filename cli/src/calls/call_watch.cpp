#include "calls/call_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orchid::cli {
namespace {

constexpr std::chrono::milliseconds draw_again{250};

void show_progress(Shell& shell, const InvocationStatus& status) {
  if (!status.progress) return;
  shell.show_passing_line(progress_bar(*status.progress) + "  " + status.function);
}

}  // namespace

std::string progress_bar(double fraction) {
  constexpr std::size_t width = 30;
  const double bounded = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(bounded * width);
  return fmt::format("[{}{}] {:3d} %", std::string(filled, '#'), std::string(width - filled, '-'),
                     static_cast<int>(std::floor(bounded * 100)));
}

bool CallWatch::look(const InvocationStatus& status) {
  sigset_t signals;
  ::sigemptyset(&signals);
  if (!blocks_signal_) {
    ::sigaddset(&signals, SIGINT);
    blocks_signal_ = ::pthread_sigmask(SIG_BLOCK, &signals, &before_) == 0;
  }
  show_progress(shell_, status);
  return ::sigpending(&signals) != 0 || ::sigismember(&signals, SIGINT) != 1;
}

CallWatch::~CallWatch() {
  shell_.show_passing_line("");
  if (blocks_signal_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

InvocationStatus wait_with_bar(Shell& shell, const Invocation& invocation,
                               std::chrono::milliseconds timeout) {
  if (!shell.err_is_terminal) return invocation.wait(timeout);
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const auto left = std::max(
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()),
        std::chrono::milliseconds(0));
    const InvocationStatus status = invocation.wait(std::min(left, draw_again));
    if (status.finished() || left <= draw_again) {
      shell.show_passing_line("");
      return status;
    }
    show_progress(shell, status);
  }
}

}  // namespace orchid::cli
