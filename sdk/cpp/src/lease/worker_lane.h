// lease/worker_lane.h: one worker of a lease, as a program calls it: the lane socket to its
// executor (docs/PROTOCOL.md §3), the lane itself, the modules it has loaded and the calls in it.
//
// A lane belongs to whoever drives it. That is a role, not a thread: `try_drive` takes it, `leave`
// gives it up, and nobody ever waits for it. Whoever finds it taken leaves word with `poke`
// instead; the driver looks for that while it waits, and once more after it has left. So a caller
// that finds an idle lane sends, waits and receives by itself. A lane that is left with calls in it
// is armed: its wake descriptor brings the lane thread, which then drives.
#pragma once
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "lane_client/attached_data.h"
#include "lane_client/code_slots.h"
#include "lane_client/conversation.h"
#include "lane_client/flights.h"
#include "lease/call_objects.h"
#include "lease/call_queue.h"
#include "lease/direct_call.h"
#include "lease/lane_socket.h"
#include "lease/lease_board.h"
#include "lease/lease_grant.h"
#include "lease/open_lane.h"
#include "protocol/lane_messages.h"

namespace orchid::sdk {

struct LaneStream;
struct StreamEntry;

using lane_client::LanePhase;

/// Knows the lease's board, not the lease.
class WorkerLane {
 public:
  WorkerLane(LeaseBoard& board, GrantedWorker worker);
  WorkerLane(const WorkerLane&) = delete;
  WorkerLane& operator=(const WorkerLane&) = delete;
  ~WorkerLane();

  // Any thread.
  [[nodiscard]] bool try_drive() {
    if (driven_.load(std::memory_order_relaxed) ||
        driven_.exchange(true, std::memory_order_acquire))
      return false;
    if (armed_) disarm();
    return true;
  }
  /// Sees to it that the driver, this thread if there is none, looks at everything once.
  void poke();
  [[nodiscard]] LanePhase phase() const { return conversation_.phase(); }
  /// At this moment; only its driver knows.
  [[nodiscard]] bool seems_idle() const {
    return phase() == LanePhase::ready && load_.load(std::memory_order_relaxed) == 0 &&
           !driven_.load(std::memory_order_relaxed);
  }
  /// In the executor's PID namespace; 0: none is there.
  [[nodiscard]] std::int64_t pid() const { return pid_.load(std::memory_order_relaxed); }
  [[nodiscard]] unsigned load() const { return load_.load(std::memory_order_relaxed); }
  [[nodiscard]] const GrantedWorker& worker() const { return worker_; }
  /// Somebody has to look at it every few milliseconds: calls wait behind others, or time runs out.
  [[nodiscard]] bool wants_supervision() const { return load() >= 2 || conversation_.is_timed(); }
  /// What the connector brings; the driver takes it.
  void arrive(Result<LaneSocket> socket);
  void arrive(std::uint64_t opening, Result<OpenedLane> opened);
  /// Its driver ends it.
  void want_closed() { close_wanted_.store(true, std::memory_order_release); }
  [[nodiscard]] std::size_t largest_input() const { return largest_input_.load(); }
  [[nodiscard]] std::size_t largest_output() const { return largest_output_.load(); }

  // The driver.
  void leave();
  /// Connects and claims; to another host by and by.
  void open();
  /// Whether a call of this code could be sent now.
  [[nodiscard]] bool accepts(const DirectCall& call) const { return turn_of(call) == Turn::now; }
  /// The same, and whether it helps to wait until the lane is empty.
  [[nodiscard]] Turn turn_of(const DirectCall& call) const;
  /// False: there is no room now. What can never be sent is ended.
  [[nodiscard]] bool send(DirectCall& call);
  /// Until the call is done, has left this lane, or `until`.
  void drive_for(DirectCall& call, MonotonicTime until = MonotonicTime::max());
  /// Takes what answers there are, and calls that wait. True: there were some. Calls of `owner` are
  /// this thread's.
  [[nodiscard]] bool receive_answers(const void* owner);
  /// Until there may be an answer, or `until`.
  void sleep(MonotonicTime until);
  /// Takes all that has come, from the worker, the executor, the connectors and callers, without
  /// waiting.
  void handle_events();
  /// The same, and whether all gets on: what is overdue is given up, and calls behind one that
  /// lasts unexpectedly long wait again in the queue, if others are idle.
  void supervise(MonotonicTime now, bool others_idle);
  /// The worker is rid of objects that none of its calls has used since then.
  void detach_unused(MonotonicTime before);
  /// What an eventful lane gets before it is armed again.
  void linger(std::chrono::nanoseconds time);
  [[nodiscard]] bool is_empty() const { return flights_.empty(); }
  [[nodiscard]] Result<std::unique_ptr<LaneRoom>> allocate(std::size_t size);

  // The driver, for a stream (worker_lane_stream.cpp).
  void begin(LaneStream& stream);
  /// Errors: `no_capacity`, `too_large`; `unreachable`: what became of the worker is to come.
  [[nodiscard]] Result<void> send_entry(LaneStream& stream, const StreamEntry& entry);
  /// Takes what has come, without waiting.
  void receive_chunks(const LaneStream& stream);
  /// Until there is an answer for it, or it is done.
  void drive_for(const LaneStream& stream);

 private:
  void disarm();
  [[nodiscard]] bool take_answers();
  void take_answer(const transport::LaneResponse& response);
  /// True: the answer is held, and not to be released.
  [[nodiscard]] bool fill(DirectCall& call, const transport::LaneResponse& response);
  [[nodiscard]] Turn turn_given_data(const DirectCall& call) const;
  void set_error(DirectCall& call, const transport::LaneResponse& response) const;
  void finish(DirectCall& call);
  void finish_with(DirectCall& call, ErrorKind kind, std::string message);
  void code_lost(DirectCall& call, const transport::LaneResponse& response);
  void count_load() {
    load_.store(static_cast<unsigned>(flights_.size()), std::memory_order_relaxed);
  }
  void cancel_unwanted();
  void pump();
  void obey_callers();
  void relieve(MonotonicTime now, bool others_idle);
  /// Negative: not known.
  [[nodiscard]] std::chrono::nanoseconds usual_run(unsigned code) const {
    const auto& usual = usual_runs_[code];
    return usual.is_known() ? usual.mean() : std::chrono::nanoseconds{-1};
  }
  [[nodiscard]] bool check_due(DirectCall& call, MonotonicTime until);
  /// The lane is driven, spinning at first and asleep then, until `over()`, or `is_late()` says
  /// that there is nothing more to wait for. `until()`: when that is to be asked at the latest.
  template <typename Over, typename IsLate, typename Until>
  void drive(Over over, IsLate is_late, Until until);
  void announce();
  void tell_of(const LeaseCode& code);
  [[nodiscard]] Error::Details failure_of(const DirectCall& call, ErrorKind kind,
                                          std::string message) const;

  // worker_lane_stream.cpp
  void take_of_stream(const transport::LaneResponse& response);
  [[nodiscard]] bool await_code(LaneStream& stream);
  [[nodiscard]] bool stream_waits_for(const LeaseCode& code) const;
  void begin_again(LaneStream& stream);
  void end_stream(const transport::LaneResponse& response);
  void forget_stream();
  void obey_stream();
  [[nodiscard]] bool check_due(const LaneStream& stream);
  /// Its answers wait until that one looks, and need nobody else.
  [[nodiscard]] bool has_attentive_owner() const;

  // worker_lane_data.cpp
  [[nodiscard]] bool has_data(const DirectCall& call) const {
    return call.data == nullptr || attached_.has_all(call.data->ids);
  }
  [[nodiscard]] Turn turn_in_queue(DirectCall& call);
  [[nodiscard]] bool may_ask_for(const DirectCall& call, const LeasedObject& object,
                                 MonotonicTime now) const;
  void attach_wanted();
  [[nodiscard]] Result<std::uint64_t> send_with_data(const DirectCall& call,
                                                     const transport::LaneCall& told);
  void data_unmapped(DirectCall& call, const transport::LaneResponse& response);

  // worker_lane_socket.cpp
  void tell(const LaneMessage& message, const std::vector<int>& descriptors = {});
  void use_socket(LaneSocket socket);
  void connect_remote();
  void read_socket();
  using Files = std::vector<UniqueFd>;
  void hear(const LaneClaimed& message, Files& files);
  void hear(const LaneRefused& message, Files& files);
  void hear(const LaneNeedCode& message, Files& files);
  void hear(const LaneSlot& message, Files& files);
  void hear(const LaneCompiling& message, Files& files);
  void set_compiling(const std::shared_ptr<LeaseCode>& code, bool waits);
  void forget_code(const LeaseCode& code);
  void hear(const LaneRejected& message, Files& files);
  void hear(const LaneProgress& /*message*/, Files& /*files*/) {}  // was not asked for
  void hear(const LaneEnded& message, Files& files);
  void hear(const LaneAttached& message, Files& files);
  void hear(const LaneNotAttached& message, Files& files);
  void hear(const LaneFetch& /*message*/, Files& /*files*/) {}  // crews are asked that
  void open_remote(const LaneClaimed& message);
  void use_lane(OpenedLane opened, std::int64_t pid);
  void take_arrivals();

  // worker_lane_module.cpp
  [[nodiscard]] bool is_separate() const { return board_.options().separate_processes; }
  [[nodiscard]] std::uint32_t claim_protocol() const;
  void open_seat();
  void leave_seat();
  void give_up_module();
  void announce_module();
  void pump_module();
  void take_module(std::shared_ptr<LeaseCode> module);

  // worker_lane_end.cpp
  void lane_failed(const Failure& why);
  void obey(lane_client::Step step, Outcome outcome = Outcome::worker_lost);
  void take_last_answers(const LaneEnded& ended);
  [[nodiscard]] std::uint64_t unanswered() const;
  void detach();
  void close_end();
  void end_calls(const LaneEnded& ended);
  void end_call(DirectCall& call, bool named, const LaneEnded& ended);
  void die(const Failure& why);

  LeaseBoard& board_;
  const GrantedWorker worker_;
  alignas(64) std::atomic<bool> driven_{false};
  std::atomic<unsigned> load_{0};     // the driver writes
  std::atomic<bool> asleep_{false};   // the driver writes
  std::atomic<std::int64_t> pid_{0};  // the driver writes
  std::atomic<bool> close_wanted_{false};
  std::atomic<std::size_t> largest_input_{0};
  std::atomic<std::size_t> largest_output_{0};
  lane_client::Conversation conversation_;  // the driver writes
  alignas(64) std::atomic<std::uint32_t> attention_{0};

  // The driver's.
  alignas(64) std::uint32_t attention_seen_ = 0;
  std::uint32_t codes_seen_ = 0;
  bool armed_ = false;
  const void* own_ = nullptr;  // the owner of calls that the thread that drives waits for
  unsigned last_code_ = 0;     // that was called
  lane_client::Flights<DirectCall> flights_;
  std::uint64_t front_looked_ = 0;      // their head when `relieve` looked first
  MonotonicTime front_since_;           // then
  std::shared_ptr<LaneEnd> end_;        // shared with what is lent from it
  std::shared_ptr<LaneStream> stream_;  // shared with its owner; has the lane for itself
  lane_client::CodeSlots<std::shared_ptr<LeaseCode>> codes_;
  std::vector<std::shared_ptr<LeaseCode>> ready_;      // that the worker has; shared as above
  std::vector<std::shared_ptr<LeaseCode>> compiling_;  // that wait for a compiler; shared as above
  std::shared_ptr<LeaseCode>
      module_;          // in a lease of separate processes: the only one; may be null
  bool swaps_ = false;  // for that: another worker is to come
  std::vector<lane_client::RunTimeEstimate> usual_runs_;  // by the code's number
  lane_client::AttachedData attached_;
  /// The executor did not give the worker these, and is asked again then.
  std::unordered_map<DataId, MonotonicTime> refused_;
  std::shared_ptr<const CallObjects> wanted_;  // of a call that waits, to be asked for; may be null
  std::optional<LaneSocket> socket_;
  std::uint64_t socket_watch_ = 0;  // the lane thread's names for what it watches; 0: nothing
  std::uint64_t wake_watch_ = 0;
  UniqueFd attention_event_;  // wakes a driver that sleeps
  std::uint64_t socket_look_ticks_ = 0;
  LaneKind kind_ = LaneKind::local;
  bool tcp_only_ = false;      // no RDMA, whatever the executor says of the network
  std::uint64_t opening_ = 0;  // counts the lanes of other hosts that were announced
  std::int64_t opening_pid_ = 0;
  std::uint64_t number_ = 0;  // the executor's, for the worker that was announced last

  std::mutex arrivals_mutex_;
  std::atomic<bool> arrived_{false};
  std::optional<Result<LaneSocket>> arrived_socket_;  // guarded by arrivals_mutex_
  std::optional<Result<OpenedLane>> arrived_lane_;    // guarded by arrivals_mutex_
  std::uint64_t arrived_opening_ = 0;                 // guarded by arrivals_mutex_
};

template <typename Over, typename IsLate, typename Until>
void WorkerLane::drive(Over over, IsLate is_late, Until until) {
  constexpr unsigned looks_per_clock = 64;
  const bool sleeps = board_.options().wait != Wait::hot;
  const LeaseBoard::Ticks& ticks = board_.ticks();
  std::uint64_t start = 0;
  std::uint64_t socket_read = 0;
  while (!over()) {
    bool progress = false;
    for (unsigned look = 0; look < looks_per_clock && !progress; ++look)
      progress = take_answers() || attention_.load(std::memory_order_relaxed) != attention_seen_;
    if (progress) {
      if (over()) break;
      if (attention_.load(std::memory_order_relaxed) != attention_seen_) handle_events();
      if (board_.wants_lanes()) pump();
      start = 0;
      continue;
    }
    const std::uint64_t now = ticks_now();
    if (start == 0) start = socket_read = now;
    if (sleeps && now - start >= ticks.spin) {
      if (is_late()) break;
      sleep(until());
      start = 0;
    } else if (now - start > ticks.alone) {
      ::sched_yield();
      if (now - socket_read < ticks.socket) continue;
      socket_read = now;
      read_socket();
      if (end_) end_->collect();
      if (is_late()) break;
    }
  }
}

}  // namespace orchid::sdk
