// flow_run/flow_driver.h: runs a flow in this process: the engine decides, calls are made, and what
// comes of them goes back to the engine.
#pragma once
#include <string_view>

#include "flow/engine.h"
#include "flow/tuner.h"
#include "flow_run/flow_calls.h"
#include "flow_run/flow_inbox.h"
#include "flow_run/host_looks.h"

namespace orchid::flow {

/// Looks on; all of it on the driver's thread.
class FlowWatch {
 public:
  FlowWatch() = default;
  virtual ~FlowWatch() = default;
  FlowWatch(const FlowWatch&) = delete;
  FlowWatch& operator=(const FlowWatch&) = delete;
  virtual void changed(const NodeChanged& change) = 0;
  virtual void failed(const AttemptFailed& attempt) = 0;
  /// Now and then; several times a second. The engine is between two events. Whether no other run
  /// will go on from what was before: data that is not needed from here on is dropped then.
  [[nodiscard]] virtual bool look() = 0;
  /// Somebody wants the flow to end (Ctrl-C). Whether it does.
  [[nodiscard]] virtual bool interrupted() = 0;
  /// The engine is given the event next: for those who keep a journal.
  virtual void arrives(const Event& /*event*/) {}
  /// An optimiser has failed, and why; the flow goes on without it. Told once for each.
  virtual void optimiser_failed(std::string_view /*trouble*/) {}
};

struct FlowDrive {
  const Plan& plan;
  Engine& engine;
  FlowCalls& calls;
  FlowInbox& inbox;
  FlowWatch& watch;
  Tuner* tuner = nullptr;       // null: nobody optimises
  HostLooks* hosts = nullptr;   // where its tuner sees hosts; null: no more than it has
  bool follows_window = false;  // the engine's window is that of the calls, as workers come and go
};
/// Returns when the flow has ended; the engine says how. One that had failed or was cancelled goes
/// on.
void drive(const FlowDrive& flow);

}  // namespace orchid::flow
