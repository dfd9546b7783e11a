// dispatcher/dispatcher.h: runs the calls of one tenant on one HTTP thread, on the workers that it
// has been granted.
//
// A call waits in its module's queue until a worker has the module and takes it, then lies in that
// worker's lane until its answer is there, its worker has ended, or its time is over. Which worker
// it gets, and how many are wanted, is decided in dispatch_policy.h; how a lane fares, and whether
// a call runs again, in libs/lane_client. This file keeps the books and does the I/O.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calls/call.h"
#include "dispatcher/dispatch_call.h"
#include "dispatcher/dispatch_counts.h"
#include "dispatcher/dispatch_deadlines.h"
#include "dispatcher/dispatch_lane.h"
#include "dispatcher/dispatch_place.h"
#include "dispatcher/dispatch_policy.h"
#include "foundation/clock.h"
#include "leases/worker_supply.h"

namespace orchid::gateway {

/// Owned by its HTTP thread, as the io_context is: all functions are called there, and so are the
/// calls' `done` functions. Answers of more than 4 KiB are handed out where they lie in the lane:
/// drop a CallResult's output on this thread, and before the dispatcher is destroyed.
class Dispatcher final : public CallRunner, public WorkerTaker, private LaneEvents {
 public:
  struct Options {
    HolderId id;
    unsigned most_workers = 1024;
    std::size_t most_waiting = 20'000;  // calls beyond that end with no_capacity at once
    std::chrono::milliseconds give_back_after{60'000};  // of idleness
    std::chrono::milliseconds executor_within{2'000};   // else calls end with no_capacity
    DispatchCounts* counts = nullptr;  // null: nobody asks; outlives the dispatcher
  };
  /// `supply` and `clock` outlive it.
  Dispatcher(boost::asio::io_context& io, const Clock& clock, WorkerSupply& supply,
             Options options);
  ~Dispatcher() override;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void start(Call call, CallDone done) override;
  void expect(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version) override;
  void warm(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version,
            const CallPlace& place) override;
  void cancel(const std::string& invocation) override;
  [[nodiscard]] RunningLog running_log(const std::string& invocation) const override;
  [[nodiscard]] std::optional<double> running_progress(
      const std::string& invocation) const override;
  bool poll() override;
  [[nodiscard]] bool expects_answer_soon() const override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void finish_sleep() override;

  void worker_granted(WorkerGrant grant) override;
  void worker_refused(LeaseId lease) override;
  void workers_asked_back(unsigned count, const std::vector<ExecutorId>& where) override;
  void lease_ended(LeaseId lease) override;
  void executor_answers(const ExecutorId& executor, bool answers) override;
  void supply_is(const Supply& supply) override;

  /// Does what is due by the clock. Its own timer calls it.
  void expire();
  /// Gives all workers back; what runs or waits ends with `cancelled`. To be called once the server
  /// has let its calls finish.
  void stop();
  [[nodiscard]] std::size_t live_calls() const { return by_invocation_.size(); }
  /// Places, each with one call that runs at a time.
  [[nodiscard]] std::size_t workers() const { return places_.size(); }
  /// For WorkerSupply's side: calls to this WorkerTaker are allowed while it lives.
  [[nodiscard]] std::weak_ptr<const void> alive() const { return alive_; }

 private:
  void lane_claimed(DispatchLane& lane) override;
  void lane_loaded(DispatchLane& lane, std::uint64_t function, const LaneSlot& slot) override;
  void lane_rejected(DispatchLane& lane, std::uint64_t function,
                     const LaneRejected& rejected) override;
  void lane_worker_ended(DispatchLane& lane, const std::shared_ptr<LaneEnd>& end,
                         const LaneEnded& ended) override;
  void lane_broken(DispatchLane& lane, const Failure& why) override;
  void lane_attached(DispatchLane& lane) override;
  void lane_not_attached(DispatchLane& lane, const LaneNotAttached& refused) override;

  // Calls: dispatcher_calls.cpp.
  [[nodiscard]] DispatchFunction& function_of(
      const std::shared_ptr<const FunctionVersion>& version);
  [[nodiscard]] DispatchFunction* find_function(std::uint64_t number);
  void enqueue(Call call, CallDone done, MonotonicTime now);
  void reindex(DispatchFunction& function);
  void classify(DispatchCall& call);
  void pump();
  void place_all(std::uint64_t number, MonotonicTime now);
  bool place_first(DispatchFunction& function, MonotonicTime now);
  [[nodiscard]] static std::chrono::milliseconds longest_wait(const DispatchFunction& function,
                                                              MonotonicTime now);
  /// Whose call has waited too long.
  struct KeptWaiting {
    const DispatchFunction* function = nullptr;  // null: nobody's
    bool is_short = false;
    bool is_long_ago = false;  // so that it may be loaded where it is not
  };
  void view_places(const DispatchFunction& function, MonotonicTime now);
  [[nodiscard]] LaneView view_of(const DispatchPlace& place, const DispatchFunction& function,
                                 const KeptWaiting& waits, MonotonicTime now);
  [[nodiscard]] static bool is_awaited(const DispatchPlace& place, const KeptWaiting& waits);
  [[nodiscard]] KeptWaiting kept_waiting(const DispatchFunction& by, MonotonicTime now) const;
  bool load_at_idle_place(const std::shared_ptr<const FunctionVersion>& version);
  [[nodiscard]] std::shared_ptr<const FunctionVersion> next_coming(MonotonicTime now);
  void load_coming(MonotonicTime now);
  void use_up(DispatchPlace& place, const std::shared_ptr<const FunctionVersion>& by,
              MonotonicTime now);
  [[nodiscard]] bool is_on_its_way(const DispatchFunction& function) const;
  [[nodiscard]] bool is_waited_for(std::uint64_t number);
  /// False: all that it could ask for has been asked for.
  bool load(DispatchPlace& place, DispatchFunction& function,
            const std::shared_ptr<const FunctionVersion>& version,
            std::optional<std::chrono::milliseconds> time_left = std::nullopt);
  bool send(DispatchLane& lane, DispatchCall& call, MonotonicTime now);
  void requeue(DispatchCall& call);
  static void leave_lane(DispatchCall& call);
  [[nodiscard]] static CallResult result_of(const DispatchCall& call, Outcome outcome,
                                            std::string message);
  void finish(DispatchCall& call, CallResult result);
  void finish_behind(DispatchCall& call, Outcome outcome, std::string message);
  void finish_failed(DispatchCall& call, Outcome outcome, std::string message);
  void expire_call(DispatchCall& call, MonotonicTime now);
  void expire_waiting(DispatchCall& call, MonotonicTime now);
  [[nodiscard]] std::vector<const DispatchLane*> lanes_that_load(
      const DispatchFunction& function) const;
  void fail_without_executor(MonotonicTime now);
  [[nodiscard]] std::string why_no_supply(const DispatchCall& call) const;

  // Answers: dispatcher_answers.cpp.
  using EndPtr = std::shared_ptr<LaneEnd>;
  bool drain(DispatchLane& lane, const EndPtr& end);
  void complete(DispatchLane& lane, const EndPtr& end, const transport::LaneResponse& response,
                MonotonicTime now);
  [[nodiscard]] CallResult make_result(const DispatchCall& call, const EndPtr& end,
                                       const transport::LaneResponse& response);
  [[nodiscard]] Payload take_payload(const EndPtr& end, const transport::LaneResponse& response);
  void end_calls(DispatchLane& lane, const EndPtr& end, const LaneEnded& ended);
  void end_call(DispatchCall& call, const EndPtr& end, bool named, const LaneEnded& ended);

  // Data: dispatcher_data.cpp.
  [[nodiscard]] static const CallData* data_of_first(const DispatchFunction& function);
  void needs_data(DispatchLane& lane, DispatchCall& call);
  [[nodiscard]] static bool may_be_ending(DispatchPlace& place, MonotonicTime now);
  [[nodiscard]] bool end_if_missed(DispatchCall& call, MonotonicTime now);
  void finish_not_given(DispatchCall& call, const LaneNotAttached& refused);

  // Workers: dispatcher_workers.cpp.
  void update_want();
  void lower_want();
  Result<void> open_lane(DispatchPlace& place, std::uint64_t module,
                         const std::shared_ptr<const FunctionVersion>& version);
  void give_back(DispatchPlace& place);
  void close_lane(DispatchLane& lane);
  void bury(DispatchPlace& place);
  struct Loss {
    Outcome outcome = Outcome::worker_lost;
    std::string why;
    std::chrono::milliseconds penalty{
        0};  // before the lease is returned, and so before another worker is asked for
    bool returns_lease = true;
  };
  void lose_lane(DispatchLane& lane, const Loss& loss);
  void lose_place(DispatchPlace& place, const Loss& loss);
  void give_up_worker(DispatchLane& lane, Outcome outcome, const std::string& why);
  void became_idle(DispatchLane& lane, MonotonicTime now);
  void look_soon(MonotonicTime now);
  void settle_debts(MonotonicTime now);
  void look_after_places(MonotonicTime now);
  void look_after(DispatchPlace& place, MonotonicTime now);
  void look_after(DispatchLane& lane, MonotonicTime now);
  void return_delayed(MonotonicTime now);
  void arm_timer(MonotonicTime now);
  [[nodiscard]] bool has_ready_lane() const;
  /// How often workers are looked at while something is to come.
  static constexpr std::chrono::milliseconds busy_look{50};

  boost::asio::io_context& io_;
  const Clock& clock_;
  WorkerSupply& supply_;
  Options options_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell callbacks whether we are still here

  std::unordered_map<std::string, std::unique_ptr<DispatchFunction>> functions_;  // by digest
  std::unordered_map<std::uint64_t, DispatchFunction*> by_number_;
  std::uint64_t next_function_ = 1;
  std::unordered_map<std::string_view, DispatchCall*> by_invocation_;  // all live calls
  std::map<std::uint64_t, DispatchFunction*> waiting_;  // by the number of their first waiting call
  std::uint64_t next_call_ = 1;
  DispatchDeadlines deadlines_;
  std::size_t waiting_count_ = 0;
  CallList sent_;  // in no order

  std::vector<std::unique_ptr<DispatchPlace>> places_;
  // What is dead, until no callback of theirs can be on the stack. Lanes go before their places.
  std::vector<std::unique_ptr<DispatchPlace>> dead_places_;
  std::vector<std::unique_ptr<DispatchLane>> dead_lanes_;
  std::vector<std::pair<MonotonicTime, LeaseId>>
      delayed_returns_;          // a worker that cannot be claimed is not asked for again at once
  std::vector<LaneView> views_;  // reused
  std::vector<std::shared_ptr<LaneEnd>> asleep_;  // those that were told that we sleep
  std::shared_ptr<bool> room_came_back_ =
      std::make_shared<bool>(false);  // shared with held answers

  /// Calls of it are likely to come until then, and no worker has it yet.
  struct Coming {
    std::shared_ptr<const FunctionVersion> version;
    MonotonicTime until;
    bool is_asked_for = false;  // a worker of its own
  };
  std::deque<Coming> coming_;  // the oldest first
  Demand demand_;
  unsigned wanted_ = 0;               // as the supply was last told
  unsigned most_wanted_ = 0;          // since the last look
  unsigned debts_ = 0;                // workers asked back and not yet given
  std::set<ExecutorId> debts_where_;  // theirs go first
  std::set<ExecutorId> silent_executors_;
  LeaseId refused_;  // see worker_refused; none: nothing was refused since a worker was granted
  Supply told_;      // of the executors
  std::optional<MonotonicTime> supply_missing_since_;  // nothing: it has never been there
  MonotonicTime ready_since_;  // when the first of the present workers became ready
  MonotonicTime last_ready_;   // when the last of them went away; the present does not count
  MonotonicTime spin_until_;
  MonotonicTime next_look_;  // at the lanes
  MonotonicTime timer_due_ = MonotonicTime::max();
  bool pumping_ = false;
  bool pump_again_ = false;
  bool stopped_ = false;
};

}  // namespace orchid::gateway
