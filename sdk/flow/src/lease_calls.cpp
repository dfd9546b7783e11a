// A flow's calls on workers of a lease: nothing is between them and this process.
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "call_failure.h"
#include "flow_run/flow_calls.h"
#include "lease/call_set.h"

namespace orchid::flow {
namespace {

using Clock = std::chrono::steady_clock;

/// When a lease has ended, so long another one is asked for, and after such a pause again.
constexpr std::chrono::seconds renewal_patience{60};
constexpr std::chrono::milliseconds renewal_pause{500};
/// For each worker: one call that it runs, and others that are there when it has ended. The longer
/// calls are, the fewer.
constexpr std::uint32_t usual_calls = 4;
constexpr std::uint32_t most_calls = 32;
constexpr std::chrono::microseconds worth_of_calls{200};
/// Behind calls that take so long one each waits: a worker that comes later finds more to do.
constexpr std::chrono::seconds long_run_time{1};
constexpr std::uint32_t long_calls = 2;

LeaseOptions lease_options(const Plan& plan, const CallsOptions& wanted) {
  LeaseOptions options{.workers = wanted.workers, .at_least = 1, .within = wanted.within};
  for (const auto& [function, signature] : functions_of(plan))
    options.constraints.functions.push_back(exact_name(plan, function));
  return options;
}

bool has_deadline(const Plan& plan) {
  return std::ranges::any_of(plan.nodes,
                             [](const PlannedNode& node) { return node.deadline.count() != 0; });
}

/// A lease, the functions that its workers have loaded, and the calls of these.
struct Workers {
  explicit Workers(Lease granted) : lease(std::move(granted)) {}
  Lease lease;
  std::map<std::string, LeasedFunction, std::less<>> functions;
  sdk::CallSet calls{lease};  // last: it is gone before the others
};

/// Gets a lease in a thread of its own, since that may last; calls wait meanwhile, and not the
/// driver. Belongs to the driver's thread.
class Renewal {
 public:
  using Get = std::function<std::unique_ptr<Workers>()>;  // throws `orchid::Error`
  Renewal(Get get, std::shared_ptr<FlowInbox> inbox)
      : thread_(
            [this, get = std::move(get), inbox = std::move(inbox)](const std::stop_token& stop) {
              run(stop, get);
              inbox->put(Tick{});  // the driver looks
            }) {}

  /// Null and no trouble: not yet.
  struct Found {
    std::unique_ptr<Workers> workers;
    std::optional<Error> trouble;
  };
  [[nodiscard]] Found found() {
    const std::lock_guard lock(mutex_);
    return {.workers = std::move(workers_), .trouble = trouble_};
  }

 private:
  static bool may_pass(const Error& error) {
    return error.kind() == ErrorKind::unreachable || error.kind() == ErrorKind::no_capacity ||
           error.kind() == ErrorKind::lease_ended || error.retryable();
  }

  void run(const std::stop_token& stop, const Get& get) {
    for (const auto give_up = Clock::now() + renewal_patience;;) {
      try {
        auto workers = get();
        const std::lock_guard lock(mutex_);
        workers_ = std::move(workers);
        return;
      } catch (const Error& error) {
        std::unique_lock lock(mutex_);
        if (!may_pass(error) || Clock::now() >= give_up || stop.stop_requested()) {
          trouble_ = error;
          return;
        }
        pause_.wait_for(lock, stop, renewal_pause, [] { return false; });
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable_any pause_;
  std::unique_ptr<Workers> workers_;  // under the mutex, as the next one
  std::optional<Error> trouble_;
  std::jthread thread_;  // last: it uses the others
};

class LeaseCalls final : public FlowCalls {
 public:
  LeaseCalls(Client& client, const Plan& plan, const CallsOptions& options,
             std::shared_ptr<FlowInbox> inbox)
      : client_(client),
        plan_(plan),
        options_(lease_options(plan, options)),
        inbox_(std::move(inbox)),
        is_timed_(has_deadline(plan)),
        workers_(get_workers()) {
    inbox_->on_put([this] { wake(); });
  }

  ~LeaseCalls() override { inbox_->on_put({}); }

  void start(const StartCall& call, const PlannedNode& node) override {
    const CallOptions options{.deadline = deadline_of(node),
                              .at_most_once = is_at_most_once(node.retry)};
    if (is_over_ && renewal_ == nullptr)
      renewal_ = std::make_unique<Renewal>([this] { return get_workers(); }, inbox_);
    if (renewal_ != nullptr) {
      waiting_.push_back({call.call, &call.function->function, options, call.input});
      return;
    }
    runs_ = call.call.run;
    workers_->calls.start(call.call.number, workers_->functions.at(call.function->function),
                          call.input, options);
  }

  void stop(CallId call) override {
    std::erase_if(waiting_, [call](const Waiting& one) { return one.call == call; });
    workers_->calls.cancel(call.number);
  }

  void ended(CallId /*call*/) override {}

  void drop(const DataId& /*data*/) override {}  // no flow with data comes here

  [[nodiscard]] FlowInbox::Taken take(FlowInbox& inbox,
                                      std::chrono::nanoseconds patience) override {
    FlowInbox::Taken taken = inbox.take_now();
    const bool has_news =
        !taken.events.empty() || taken.interrupts != 0 || taken.must_end || renewal_ != nullptr;
    if (renewal_ != nullptr) look_at_renewal();
    ended_.clear();
    workers_->calls.take(ended_, has_news ? std::chrono::nanoseconds(0) : patience);
    for (sdk::CallSet::Ended& one : ended_) taken.events.push_back(event_of(one));
    if (renewal_ == nullptr || !taken.events.empty()) return taken;
    return inbox.take(patience);  // all calls wait for another lease
  }

  void rest() override { workers_->calls.rest(); }

  /// Where a node has a deadline none waits behind another one: a deadline counts from the moment
  /// of the hand-over.
  [[nodiscard]] std::uint32_t window() const override {
    return calls_per_worker() * std::max(workers_->lease.workers(), 1U);
  }

  [[nodiscard]] std::uint32_t workers() const override {
    return std::max(workers_->lease.workers(), 1U);
  }

 private:
  [[nodiscard]] std::uint32_t calls_per_worker() const {
    if (is_timed_) return 1;
    if (run_time_ > long_run_time) return long_calls;
    if (run_time_.count() <= 0) return usual_calls;
    const std::int64_t worth = std::min<std::int64_t>(worth_of_calls / run_time_, most_calls);
    return std::max(usual_calls, static_cast<std::uint32_t>(worth));
  }

  struct Waiting {
    CallId call;
    const std::string* function;  // the plan's
    CallOptions options;
    Bytes input;
  };

  /// Any thread.
  [[nodiscard]] std::unique_ptr<Workers> get_workers() const {
    auto workers = std::make_unique<Workers>(client_.lease(options_));
    for (const auto& [function, signature] : functions_of(plan_))
      workers->functions.emplace(function, workers->lease.function(exact_name(plan_, function)));
    return workers;
  }

  [[nodiscard]] Event event_of(sdk::CallSet::Ended& one) {
    const CallId call{.run = runs_, .number = one.number};
    if (one.error == nullptr) {
      constexpr int share = 8;
      run_time_ += (one.run_time - run_time_) / share;
      return Answered{.call = call,
                      .output = std::move(one.output),
                      .run_time = one.run_time,
                      .host = one.host == nullptr ? std::string() : *one.host};
    }
    const Error error(std::move(*one.error));
    if (error.kind() == ErrorKind::lease_ended) is_over_ = true;
    return failure_of(call, error);
  }

  void look_at_renewal() {
    Renewal::Found found = renewal_->found();
    if (found.workers == nullptr && !found.trouble) return;
    renewal_.reset();
    if (found.workers != nullptr) change_workers(found.workers);
    for (const Waiting& one : std::exchange(waiting_, {})) {
      if (found.trouble)
        inbox_->put(failure_of(one.call, *found.trouble));
      else
        workers_->calls.start(one.call.number, workers_->functions.at(*one.function), one.input,
                              one.options);
    }
  }

  /// What becomes of the calls of the old ones is told: nobody looks there any more.
  void change_workers(std::unique_ptr<Workers>& other) {
    std::vector<sdk::CallSet::Ended> last;
    workers_->calls.take(last, {});
    for (sdk::CallSet::Ended& one : last) inbox_->put(event_of(one));
    for (const std::uint64_t number : workers_->calls.open())
      inbox_->put(failure_of(
          {.run = runs_, .number = number},
          Error({.kind = ErrorKind::lease_ended, .message = "the lease has ended", .hint = {}})));
    const std::lock_guard lock(wake_mutex_);
    std::swap(workers_, other);
    is_over_ = false;
  }

  /// Any thread.
  void wake() {
    const std::lock_guard lock(wake_mutex_);
    if (workers_ != nullptr) workers_->calls.wake();
  }

  Client& client_;
  const Plan& plan_;
  LeaseOptions options_;
  std::shared_ptr<FlowInbox> inbox_;  // shared with who puts something into it
  bool is_timed_;
  std::uint32_t runs_ = 0;                // CallId::run of the open calls
  std::chrono::nanoseconds run_time_{0};  // of calls, the last ones counting most
  std::vector<sdk::CallSet::Ended> ended_;
  std::vector<Waiting> waiting_;  // for another lease; no more than the window
  std::mutex wake_mutex_;         // guards `workers_`, which the driver's thread alone changes
  std::unique_ptr<Workers> workers_;
  bool is_over_ = false;  // their lease; another one is asked for when there is a call for it
  std::unique_ptr<Renewal> renewal_;
};

}  // namespace

std::unique_ptr<FlowCalls> calls_on_lease(Client& client, const Plan& plan,
                                          const CallsOptions& options,
                                          std::shared_ptr<FlowInbox> inbox) {
  return std::make_unique<LeaseCalls>(client, plan, options, std::move(inbox));
}

}  // namespace orchid::flow
