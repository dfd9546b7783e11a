// flows/flow_calls.h: how a flow's calls are made: on workers of a lease, or through the gateway.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>

#include "flow/engine.h"
#include "flow/plan.h"
#include "flows/flow_inbox.h"
#include "orchid/client.h"

namespace orchid::cli {

/// Used by one thread. What becomes of a call goes to the inbox, which other threads share: an
/// answer may come while this ends.
class FlowCalls {
 public:
  FlowCalls() = default;
  virtual ~FlowCalls() = default;
  FlowCalls(const FlowCalls&) = delete;
  FlowCalls& operator=(const FlowCalls&) = delete;

  /// A call of `node`, whose deadline it has from now on, or an hour.
  virtual void start(const flow::StartCall& call, const flow::PlannedNode& node) = 0;
  /// Nothing, if it has ended.
  virtual void stop(flow::CallId call) = 0;
  /// What became of it has been taken from the inbox.
  virtual void ended(flow::CallId call) = 0;
  /// How many calls are worth having open now.
  [[nodiscard]] virtual std::uint32_t window() const = 0;
};

/// Of a node's call.
[[nodiscard]] inline std::chrono::nanoseconds deadline_of(const flow::PlannedNode& node) {
  return node.deadline.count() == 0 ? std::chrono::hours(1) : node.deadline;
}

/// All functions are loaded when it returns. Client and plan outlive it. Throws `orchid::Error`.
[[nodiscard]] std::unique_ptr<FlowCalls> calls_on_lease(Client& client, const flow::Plan& plan,
                                                        unsigned workers,
                                                        std::shared_ptr<FlowInbox> inbox);
/// `threads` of them at once. The client outlives it.
[[nodiscard]] std::unique_ptr<FlowCalls> calls_by_gateway(Client& client, unsigned threads,
                                                          std::shared_ptr<FlowInbox> inbox);

}  // namespace orchid::cli
