// A flow's calls on workers of a lease: nothing is between them and this process.
#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "flows/call_failure.h"
#include "flows/flow_calls.h"

namespace orchid::cli {
namespace {

/// For each worker: one that it runs, and others that are there when it has ended. Where a node has
/// a deadline none waits behind another one: a deadline counts from the moment of the hand-over.
std::uint32_t calls_per_worker(const flow::Plan& plan) {
  const bool has_deadline = std::ranges::any_of(
      plan.nodes, [](const flow::PlannedNode& node) { return node.deadline.count() != 0; });
  return has_deadline ? 1 : 4;
}

/// Whether the node wants no call to be started twice. Else the platform starts calls of lost
/// workers again by itself, and sooner than the engine would.
bool is_at_most_once(const flow::RetryPolicy& policy) {
  const auto names = [&policy](const char* outcome) {
    return std::ranges::find(policy.outcomes, outcome) != policy.outcomes.end();
  };
  return policy.attempts == 1 || !names("worker_lost") || !names("evicted");
}

class LeaseCalls final : public FlowCalls {
 public:
  LeaseCalls(Client& client, const flow::Plan& plan, unsigned workers,
             std::shared_ptr<FlowInbox> inbox)
      : client_(client),
        plan_(plan),
        options_(options_of(plan, workers)),
        inbox_(std::move(inbox)),
        lease_(client.lease(options_)),
        calls_per_worker_(calls_per_worker(plan)) {
    load_functions();
  }

  ~LeaseCalls() override {
    for (const auto& [number, future] : open_) future.cancel();
    lease_.release();
  }

  void start(const flow::StartCall& call, const flow::PlannedNode& node) override {
    try {
      if (is_over_->exchange(false)) take_another_lease();
      const ReplyFuture future =
          functions_.at(call.function->function)
              .async(call.input,
                     {.deadline = deadline_of(node), .at_most_once = is_at_most_once(node.retry)});
      open_.insert_or_assign(call.call.number, future);
      future.then([inbox = inbox_, is_over = is_over_, id = call.call](const ReplyFuture& ended) {
        try {
          inbox->put(flow::Answered{.call = id, .output = ended.get().output});
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::lease_ended) is_over->store(true);
          inbox->put(failure_of(id, error));
        }
      });
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::lease_ended) is_over_->store(true);
      inbox_->put(failure_of(call.call, error));
    }
  }

  void stop(flow::CallId call) override {
    const auto found = open_.find(call.number);
    if (found == open_.end()) return;
    found->second.cancel();
    open_.erase(found);
  }

  void ended(flow::CallId call) override { open_.erase(call.number); }

  [[nodiscard]] std::uint32_t window() const override {
    return calls_per_worker_ * std::max(lease_.workers(), 1U);
  }

 private:
  static LeaseOptions options_of(const flow::Plan& plan, unsigned workers) {
    LeaseOptions options{.workers = workers, .at_least = 1};
    for (const auto& [function, signature] : flow::functions_of(plan))
      options.constraints.functions.push_back(function);
    return options;
  }

  /// Throws `orchid::Error`; then the next call tries again.
  void take_another_lease() {
    try {
      lease_ = client_.lease(options_);
      load_functions();
    } catch (const Error&) {
      is_over_->store(true);
      throw;
    }
  }

  void load_functions() {
    functions_.clear();
    for (const auto& [function, signature] : flow::functions_of(plan_))
      functions_.emplace(function, lease_.function(function));
  }

  Client& client_;
  const flow::Plan& plan_;
  LeaseOptions options_;
  std::shared_ptr<FlowInbox> inbox_;  // shared with callbacks, as the next one
  /// The lease has ended, and a new one is needed.
  std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
  Lease lease_;
  std::uint32_t calls_per_worker_;
  std::map<std::string, LeasedFunction> functions_;
  std::unordered_map<std::uint64_t, ReplyFuture> open_;  // until what became of it has been taken
};

}  // namespace

std::unique_ptr<FlowCalls> calls_on_lease(Client& client, const flow::Plan& plan, unsigned workers,
                                          std::shared_ptr<FlowInbox> inbox) {
  return std::make_unique<LeaseCalls>(client, plan, workers, std::move(inbox));
}

}  // namespace orchid::cli
