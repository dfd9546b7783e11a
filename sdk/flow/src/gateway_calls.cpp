// A flow's calls through the gateway, each by a thread that waits for it.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "call_failure.h"
#include "call_slots.h"
#include "flow_run/flow_calls.h"
#include "flow_run/flow_data.h"
#include "flow_run/host_looks.h"
#include "flow_run/preparations.h"

namespace orchid::flow {
namespace {

using Clock = std::chrono::steady_clock;

/// So often it is asked how many workers could be had.
constexpr std::chrono::seconds look_again{5};
/// So long a gateway may be away, and so often it is looked for.
constexpr std::chrono::seconds restart_patience{60};
constexpr std::chrono::milliseconds restart_pause{500};

/// Calls that were lost from sight, and may still run.
bool is_lost(const Error& error) {
  return error.kind() == ErrorKind::unreachable || error.kind() == ErrorKind::timed_out;
}

class GatewayCalls final : public FlowCalls {
 public:
  GatewayCalls(Client& client, const Plan& plan, const CallsOptions& options,
               std::shared_ptr<FlowInbox> inbox)
      : client_(client),
        plan_(plan),
        inbox_(std::move(inbox)),
        window_(std::clamp(options.threads, 1U, most_threads)),
        key_(options.key.empty() ? new_flow_key() : options.key) {
    for (unsigned i = 0; i < window_; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }

  ~GatewayCalls() override {
    ends_ = true;
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();  // waits for the calls that run; those that last are cancelled
  }

  void start(const StartCall& call, const PlannedNode& node) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({.call = call,
                          .deadline = node.deadline,
                          .at_most_once = is_at_most_once(node.retry),
                          .constraints = node.constraints,
                          .key = {}});
    }
    filled_.notify_one();
  }

  void stop(CallId call) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const Waiting& one) { return one.call.call == call; });
    if (running_.contains(call.number)) stopped_.insert(call.number);
  }

  void ended(CallId /*call*/) override {}

  void drop(const DataId& data) override { drops_.drop(data); }

  void prepare(const PlannedNode& node, std::vector<DataId> data) override {
    preparations_.add({}, calls_ahead(plan_, node, data));
  }

  [[nodiscard]] std::uint32_t window() const override { return window_; }

 private:
  struct Waiting {
    StartCall call;
    std::chrono::nanoseconds deadline;  // 0: none of its own
    bool at_most_once;
    Constraints constraints;
    std::string key;  // empty: that of its work
    [[nodiscard]] bool is_timed() const { return deadline.count() != 0; }
  };

  /// A deadline counts from the hand-over, and where workers are few a call waits behind others
  /// then. So no more of those that have one are handed over than there are cores for where they
  /// may run.
  [[nodiscard]] auto first_that_may_start() {
    return std::ranges::find_if(waiting_, [this](const Waiting& one) {
      return !one.is_timed() || slots_.has_room(one.constraints);
    });
  }

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (filled_.wait(lock, stop, [this] { return !waiting_.empty(); }) &&
           !stop.stop_requested()) {
      const bool is_timed = std::ranges::any_of(waiting_, &Waiting::is_timed);
      const auto has_first = [this] { return first_that_may_start() != waiting_.end(); };
      if (is_timed && Clock::now() - looked_ >= look_again)
        look_for_cores(lock);
      else if (has_first())
        make_first(lock);
      else  // all that wait have a deadline, and for none is a core known
        filled_.wait_until(lock, stop, looked_ + look_again, has_first);
    }
  }

  void make_first(std::unique_lock<std::mutex>& lock) {
    const auto first = first_that_may_start();
    Waiting next = std::move(*first);
    waiting_.erase(first);
    const std::uint64_t number = next.call.call.number;
    running_.insert(number);
    if (next.is_timed()) slots_.begin(next.constraints);
    // That of the attempt before, if that was lost from sight: what it has started is found.
    if (auto lost = lost_.extract(next.call.work); !lost.empty())
      next.key = std::move(lost.mapped());
    if (!waiting_.empty()) filled_.notify_one();  // another thread looks after those
    lock.unlock();
    call(next);
    lock.lock();
    running_.erase(number);
    stopped_.erase(number);
    if (!next.is_timed()) return;
    slots_.end(next.constraints);
    filled_.notify_all();
  }

  /// Leaves the lock meanwhile.
  void look_for_cores(std::unique_lock<std::mutex>& lock) {
    looked_ = Clock::now();
    const CallSlots::Counts before = slots_.running();
    lock.unlock();
    std::vector<HostSituation> hosts = look_at_hosts(client_);
    lock.lock();
    slots_.see(std::move(hosts), before);
    filled_.notify_all();
  }

  void call(Waiting& next) {
    const CallId id = next.call.call;
    if (next.call.keeps) return keep(next.call);
    if (next.key.empty())
      next.key = idempotency_key(key_, next.call, exact_name(plan_, next.call.function->function));
    InvokeOptions options{.deadline = next.is_timed() ? next.deadline : longest_deadline,
                          .idempotency_key = next.key,
                          .signature = next.call.function->signature,
                          .host_kind = next.constraints.kind,
                          .device = wanted_device(next.call.device),
                          .cluster = next.constraints.cluster,
                          .data = references_to(next.call.data),
                          .at_most_once = next.at_most_once};
    options.watch = [this, id](const InvocationStatus&) { return !is_stopped(id); };
    try {
      call_or_call_anew(next, options);
    } catch (const Error& error) {
      if (is_lost(error)) keep_key(next);
      CallFailed failed = failure_of(id, error);
      explain_large_input(next.call.input.size(), failed);
      find_lost(client_, next.call.data, failed);
      auto told = wait_for_data(client_, {.given = next.call.data, .kept = next.call.kept},
                                std::move(failed), [&] {
                                  std::this_thread::sleep_for(restart_pause);
                                  return !is_stopped(id);
                                });
      if (told) inbox_->put(std::move(*told));
    } catch (const std::exception& error) {  // no memory for a large answer
      inbox_->put(CallFailed{.call = id, .outcome = "system", .message = error.what()});
    }
  }

  void keep(const StartCall& call) {
    const auto give_up = Clock::now() + keep_patience;
    while (!is_stopped(call.call)) {
      if (auto told = try_to_keep(client_, call.call, call.data.at(0), give_up)) {
        inbox_->put(std::move(*told));
        return;
      }
      std::this_thread::sleep_for(restart_pause);
    }
  }

  /// What an earlier run has left cancelled is found under its key, and is made once more.
  void call_or_call_anew(Waiting& next, InvokeOptions& options) {
    try {
      call_until_heard(next, options);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || is_stopped(next.call.call)) throw;
      next.key += "-" + anew_;
      options.idempotency_key = next.key;
      call_until_heard(next, options);
    }
  }

  void call_until_heard(const Waiting& next, const InvokeOptions& options) {
    const auto give_up = Clock::now() + restart_patience;
    while (!try_call(next, options, give_up)) std::this_thread::sleep_for(restart_pause);
  }

  /// False: the gateway is away, and may come back. Because of the key that is no second call.
  bool try_call(const Waiting& next, const InvokeOptions& options, Clock::time_point give_up) {
    try {
      Reply reply =
          client_.invoke(exact_name(plan_, next.call.function->function), next.call.input, options);
      inbox_->put(Answered{.call = next.call.call,
                           .output = std::move(reply.output),
                           .run_time = reply.timing.run,
                           .host = std::move(reply.node)});
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unreachable || Clock::now() >= give_up ||
          is_stopped(next.call.call))
        throw;
      return false;
    }
  }

  void keep_key(const Waiting& lost) {
    const std::lock_guard lock(mutex_);
    lost_.insert_or_assign(lost.call.work, lost.key);
  }

  bool is_stopped(CallId call) {
    const std::lock_guard lock(mutex_);
    return ends_ || stopped_.contains(call.number);
  }

  Client& client_;
  const Plan& plan_;
  std::shared_ptr<FlowInbox> inbox_;
  DataDrops drops_{client_};
  Preparations preparations_{client_};
  std::uint32_t window_;
  std::string key_;
  const std::string anew_ = new_flow_key();  // calls of no other run have it in their keys
  std::atomic<bool> ends_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any filled_;
  std::deque<Waiting> waiting_;         // as many as the window
  std::set<std::uint64_t> running_;     // numbers of calls
  std::set<std::uint64_t> stopped_;     // of those that run
  std::map<WorkId, std::string> lost_;  // keys of attempts that were lost from sight
  CallSlots slots_;                     // of calls with a deadline
  Clock::time_point looked_ = Clock::now() - look_again;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<FlowCalls> calls_by_gateway(Client& client, const Plan& plan,
                                            const CallsOptions& options,
                                            std::shared_ptr<FlowInbox> inbox) {
  return std::make_unique<GatewayCalls>(client, plan, options, std::move(inbox));
}

}  // namespace orchid::flow
