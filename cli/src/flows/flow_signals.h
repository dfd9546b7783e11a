// flows/flow_signals.h: Ctrl-C and SIGTERM end a flow, and not the process.
#pragma once
#include <csignal>
#include <thread>

#include "flow_run/flow_inbox.h"

namespace orchid::cli {

/// Takes SIGINT and SIGTERM of this process, for as long as it lives, into an inbox. Made before
/// any other thread, so that none of them gets the signals.
class FlowSignals {
 public:
  explicit FlowSignals(flow::FlowInbox& inbox);
  ~FlowSignals();
  FlowSignals(const FlowSignals&) = delete;
  FlowSignals& operator=(const FlowSignals&) = delete;

 private:
  sigset_t before_{};
  std::jthread thread_;
};

}  // namespace orchid::cli
