// flow_run/flow_calls.h: how a flow's calls are made: on workers of a lease, or through the
// gateway.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/engine.h"
#include "flow/plan.h"
#include "flow_run/flow_inbox.h"
#include "orchid/client.h"

namespace orchid::flow {

/// Used by one thread. What becomes of a call comes by `take`, or goes to the inbox, which other
/// threads share: an answer may come while this ends.
class FlowCalls {
 public:
  FlowCalls() = default;
  virtual ~FlowCalls() = default;
  FlowCalls(const FlowCalls&) = delete;
  FlowCalls& operator=(const FlowCalls&) = delete;

  /// A call of `node`, whose deadline it has from when a worker is there for it.
  virtual void start(const StartCall& call, const PlannedNode& node) = 0;
  /// Nothing, if it has ended.
  virtual void stop(CallId call) = 0;
  /// What became of it has been taken from the inbox.
  virtual void ended(CallId call) = 0;
  /// What has come of calls, and to the inbox: as `FlowInbox::take`.
  [[nodiscard]] virtual FlowInbox::Taken take(FlowInbox& inbox, std::chrono::nanoseconds patience) {
    return inbox.take(patience);
  }
  /// A node of the flow has made the object, and nobody needs it any more.
  virtual void drop(const DataId& data) = 0;
  /// The node comes next: what its calls need is brought to where they may run. Does not wait.
  virtual void prepare(const PlannedNode& /*node*/, std::vector<DataId> /*data*/) {}
  /// The driver does something else for a while, which may last.
  virtual void rest() {}
  /// How many calls are worth having open now.
  [[nodiscard]] virtual std::uint32_t window() const = 0;
  /// How many of them run side by side, as far as is known.
  [[nodiscard]] virtual std::uint32_t workers() const { return window(); }
};

/// Of a call whose node has no deadline: it may wait for a worker, behind other calls, for long.
inline constexpr std::chrono::hours longest_deadline{24};

/// Of a node's call.
[[nodiscard]] inline std::chrono::nanoseconds deadline_of(const PlannedNode& node) {
  return node.deadline.count() == 0 ? longest_deadline : node.deadline;
}

/// As InvokeOptions::device has it.
[[nodiscard]] inline std::string wanted_device(Device device) {
  return device == Device::any ? std::string() : std::string(to_string(device));
}

/// Whether the node wants no call to be started twice by the platform. Else that starts calls of
/// lost workers again by itself, and sooner than the engine would.
[[nodiscard]] bool is_at_most_once(const RetryPolicy& policy);

/// A name for one run of a flow (EngineOptions::key) that no other one has.
[[nodiscard]] std::string new_flow_key();
/// Of one attempt of a call, in the run `key`. `exact`: what is called. The input and the data are
/// in it: a run that goes on may hand out other work in the same place.
[[nodiscard]] std::string idempotency_key(std::string_view key, const StartCall& call,
                                          std::string_view exact);

struct CallsOptions {
  unsigned workers = 8;                      // of the lease, at most
  std::chrono::milliseconds within{10'000};  // so long it may take to get the first of them
  unsigned threads = 16;    // through the gateway: calls under way at once; 1 to most_threads
  bool by_gateway = false;  // else on a lease, where a lane leads to workers from here
  std::string key{};        // of the engine: calls that a run before this one has left are found
};
inline constexpr unsigned most_threads = 256;

struct MadeCalls {
  std::unique_ptr<FlowCalls> calls;
  bool on_lease = false;
};
/// On a lease unless the flow moves data. All functions are loaded when it returns. Client and plan
/// outlive it. Throws `orchid::Error`.
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
