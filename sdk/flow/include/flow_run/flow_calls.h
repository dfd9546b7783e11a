// flow_run/flow_calls.h: how a flow's calls are made: on workers of a lease, or through the
// gateway.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "flow/engine.h"
#include "flow/plan.h"
#include "flow_run/flow_inbox.h"
#include "orchid/client.h"

namespace orchid::flow {

/// Used by one thread. What becomes of a call goes to the inbox, which other threads share: an
/// answer may come while this ends.
class FlowCalls {
 public:
  FlowCalls() = default;
  virtual ~FlowCalls() = default;
  FlowCalls(const FlowCalls&) = delete;
  FlowCalls& operator=(const FlowCalls&) = delete;

  /// A call of `node`, whose deadline it has from now on, or an hour.
  virtual void start(const StartCall& call, const PlannedNode& node) = 0;
  /// Nothing, if it has ended.
  virtual void stop(CallId call) = 0;
  /// What became of it has been taken from the inbox.
  virtual void ended(CallId call) = 0;
  /// How many calls are worth having open now.
  [[nodiscard]] virtual std::uint32_t window() const = 0;
};

/// Of a node's call.
[[nodiscard]] inline std::chrono::nanoseconds deadline_of(const PlannedNode& node) {
  return node.deadline.count() == 0 ? std::chrono::hours(1) : node.deadline;
}

struct CallsOptions {
  unsigned workers = 8;                      // of the lease, at most
  std::chrono::milliseconds within{10'000};  // so long it may take to get the first of them
  unsigned threads = 16;    // through the gateway: calls under way at once; 1 to most_threads
  bool by_gateway = false;  // else on a lease, where a lane leads to workers from here
};
inline constexpr unsigned most_threads = 256;

struct MadeCalls {
  std::unique_ptr<FlowCalls> calls;
  bool on_lease = false;
};
/// All functions are loaded when it returns. Client and plan outlive it. Throws `orchid::Error`.
[[nodiscard]] MadeCalls make_calls(Client& client, const Plan& plan, const CallsOptions& options,
                                   std::shared_ptr<FlowInbox> inbox);

/// The two ways, for those who have chosen. As above.
[[nodiscard]] std::unique_ptr<FlowCalls> calls_on_lease(Client& client, const Plan& plan,
                                                        const CallsOptions& options,
                                                        std::shared_ptr<FlowInbox> inbox);
[[nodiscard]] std::unique_ptr<FlowCalls> calls_by_gateway(Client& client, const Plan& plan,
                                                          const CallsOptions& options,
                                                          std::shared_ptr<FlowInbox> inbox);

}  // namespace orchid::flow
