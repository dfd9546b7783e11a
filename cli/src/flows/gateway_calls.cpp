// A flow's calls through the gateway, each by a thread that waits for it.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "flows/call_failure.h"
#include "flows/flow_calls.h"

namespace orchid::cli {
namespace {

class GatewayCalls final : public FlowCalls {
 public:
  GatewayCalls(Client& client, unsigned threads, std::shared_ptr<FlowInbox> inbox)
      : client_(client), inbox_(std::move(inbox)), window_(threads) {
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }

  ~GatewayCalls() override {
    ends_ = true;
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();  // waits for the calls that run; those that last are cancelled
  }

  void start(const flow::StartCall& call, const flow::PlannedNode& node) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({.call = call, .deadline = deadline_of(node)});
    }
    filled_.notify_one();
  }

  void stop(flow::CallId call) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const Waiting& one) { return one.call.call == call; });
    if (running_.contains(call.number)) stopped_.insert(call.number);
  }

  void ended(flow::CallId /*call*/) override {}

  [[nodiscard]] std::uint32_t window() const override { return window_; }

 private:
  struct Waiting {
    flow::StartCall call;
    std::chrono::nanoseconds deadline;
  };

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (filled_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      const Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      running_.insert(next.call.call.number);
      lock.unlock();
      call(next);
      lock.lock();
      running_.erase(next.call.call.number);
      stopped_.erase(next.call.call.number);
    }
  }

  void call(const Waiting& next) {
    const flow::CallId id = next.call.call;
    InvokeOptions options{.deadline = next.deadline, .signature = next.call.function->signature};
    options.watch = [this, id](const InvocationStatus&) { return !is_stopped(id); };
    try {
      Reply reply = client_.invoke(next.call.function->function, next.call.input, options);
      inbox_->put(flow::Answered{.call = id, .output = std::move(reply.output)});
    } catch (const Error& error) {
      inbox_->put(failure_of(id, error));
    }
  }

  bool is_stopped(flow::CallId call) {
    const std::lock_guard lock(mutex_);
    return ends_ || stopped_.contains(call.number);
  }

  Client& client_;
  std::shared_ptr<FlowInbox> inbox_;
  std::uint32_t window_;
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  std::condition_variable_any filled_;
  std::deque<Waiting> waiting_;      // under the mutex, as the next two; as many as the window
  std::set<std::uint64_t> running_;  // numbers of calls
  std::set<std::uint64_t> stopped_;  // of those that run
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<FlowCalls> calls_by_gateway(Client& client, unsigned threads,
                                            std::shared_ptr<FlowInbox> inbox) {
  return std::make_unique<GatewayCalls>(client, threads, std::move(inbox));
}

}  // namespace orchid::cli
