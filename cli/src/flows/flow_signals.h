// flows/flow_signals.h: Ctrl-C and SIGTERM end a flow, and not the process.
#pragma once
#include <csignal>
#include <thread>

#include "flow_run/flow_inbox.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {

/// Takes SIGINT and SIGTERM of this process into an inbox, whichever thread gets them. Before and
/// after its life they end the process. At most one lives at a time.
class FlowSignals {
 public:
  explicit FlowSignals(flow::FlowInbox& inbox);
  ~FlowSignals();
  FlowSignals(const FlowSignals&) = delete;
  FlowSignals& operator=(const FlowSignals&) = delete;

 private:
  UniqueFd reader_;
  UniqueFd writer_;
  struct sigaction interrupt_before_{};
  struct sigaction terminate_before_{};
  std::thread thread_;
};

}  // namespace orchid::cli
