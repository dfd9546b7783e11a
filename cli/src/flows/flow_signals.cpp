#include "flows/flow_signals.h"

#include <chrono>
#include <ctime>

namespace orchid::cli {
namespace {

constexpr std::chrono::milliseconds look_for_end{100};

}  // namespace

FlowSignals::FlowSignals(flow::FlowInbox& inbox) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  ::sigaddset(&wanted, SIGINT);
  ::sigaddset(&wanted, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  thread_ = std::jthread([&inbox, wanted](const std::stop_token& stop) {
    const timespec pause{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(look_for_end).count()};
    while (!stop.stop_requested()) {
      const int signal = ::sigtimedwait(&wanted, nullptr, &pause);
      if (signal > 0) inbox.put_interrupt(signal == SIGTERM);
    }
  });
}

FlowSignals::~FlowSignals() {
  thread_.request_stop();
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace orchid::cli
