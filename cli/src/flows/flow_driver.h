// flows/flow_driver.h: runs a flow in this process: the engine decides, calls are made, and what
// comes of them goes back to the engine.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "flow/engine.h"
#include "flows/flow_calls.h"
#include "flows/flow_inbox.h"

namespace orchid::cli {

/// Looks on; all of it on the driver's thread.
class FlowWatch {
 public:
  FlowWatch() = default;
  virtual ~FlowWatch() = default;
  FlowWatch(const FlowWatch&) = delete;
  FlowWatch& operator=(const FlowWatch&) = delete;
  virtual void changed(const flow::NodeChanged& change) = 0;
  virtual void failed(const flow::AttemptFailed& attempt) = 0;
  /// Now and then; several times a second.
  virtual void look() = 0;
  /// Somebody has pressed Ctrl-C. Whether the flow ends.
  [[nodiscard]] virtual bool interrupted() = 0;
};

struct FlowDrive {
  const flow::Plan& plan;
  flow::Engine& engine;
  FlowCalls& calls;
  FlowInbox& inbox;
  FlowWatch& watch;
  bool follows_window = false;  // the engine's window is that of the calls, as workers come and go
};
/// Returns when the flow has ended; the engine says how.
void drive(const FlowDrive& flow);

}  // namespace orchid::cli
