#include "flows/flow_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace orchid::cli {
namespace {

/// Where the handler writes a signal's number; -1: nobody reads.
std::atomic<int> signal_pipe{-1};

void note_signal(int signal) {
  const int error = errno;
  const auto number = static_cast<char>(signal);
  [[maybe_unused]] const auto written = ::write(signal_pipe.load(), &number, 1);
  errno = error;
}

}  // namespace

FlowSignals::FlowSignals(flow::FlowInbox& inbox) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;  // signals end the process, as ever
  reader_ = UniqueFd(ends[0]);
  writer_ = UniqueFd(ends[1]);
  signal_pipe = writer_.get();
  thread_ = std::thread([this, &inbox] {
    for (char number = 0; ::read(reader_.get(), &number, 1) == 1 && number != 0;)
      inbox.put_interrupt(number == SIGTERM);
  });
  struct sigaction action{};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &interrupt_before_);
  ::sigaction(SIGTERM, &action, &terminate_before_);
}

FlowSignals::~FlowSignals() {
  if (!thread_.joinable()) return;
  ::sigaction(SIGINT, &interrupt_before_, nullptr);
  ::sigaction(SIGTERM, &terminate_before_, nullptr);
  note_signal(0);
  thread_.join();
  signal_pipe = -1;
}

}  // namespace orchid::cli
