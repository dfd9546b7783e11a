// lease/worker_lane.h: one worker of a lease, as a program calls it: the lane socket to its
// executor (docs/PROTOCOL.md §3), the lane itself, the modules it has loaded and the calls in it.
//
// A lane belongs to whoever drives it. That is a role, not a thread: `try_drive` takes it, `leave`
// gives it up, and nobody ever waits for it. Whoever finds it taken leaves word with `poke`
// instead; the driver looks for that while it waits, and once more after it has left. So a caller
// that finds an idle lane sends, waits and receives by itself. A lane that is left with calls in it
// is armed: its wake descriptor brings the lane thread, which then drives.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "lease/call_queue.h"
#include "lease/direct_call.h"
#include "lease/lane_socket.h"
#include "lease/lease_grant.h"
#include "lease/open_lane.h"
#include "protocol/lane_messages.h"

namespace orchid::sdk {

struct LaneStream;
struct StreamEntry;

enum class LanePhase : std::uint8_t {
  claiming,
  ready,
  losing,     // the lane is of no use; the executor's word on what became of the worker is to come
  replacing,  // another worker is to come
  dead,
};

class WorkerLane {
 public:
  WorkerLane(LeaseCore& core, GrantedWorker worker);
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
  [[nodiscard]] LanePhase phase() const { return phase_.load(std::memory_order_acquire); }
  [[nodiscard]] bool looks_idle() const {
    return phase() == LanePhase::ready && load_.load(std::memory_order_relaxed) == 0 &&
           !driven_.load(std::memory_order_relaxed);
  }
  /// In the executor's PID namespace; 0: none is there.
  [[nodiscard]] std::int64_t pid() const { return pid_.load(std::memory_order_relaxed); }
  [[nodiscard]] unsigned load() const { return load_.load(std::memory_order_relaxed); }
  [[nodiscard]] const GrantedWorker& worker() const { return worker_; }
  /// Somebody has to look at it every few milliseconds: calls wait behind others, or time runs out.
  [[nodiscard]] bool wants_watching() const {
    return load() >= 2 || is_timed_.load(std::memory_order_relaxed);
  }
  /// What the connector brings; the driver takes it.
  void arrive(Result<LaneSocket> socket);
  void arrive(std::uint64_t opening, Result<OpenedLane> opened);
  /// Ends it at the driver's next look.
  void want_closed() { close_wanted_.store(true, std::memory_order_release); }
  [[nodiscard]] std::size_t largest_input() const { return largest_input_.load(); }
  [[nodiscard]] std::size_t largest_output() const { return largest_output_.load(); }

  // The driver.
  void leave();
  /// Connects and claims; to another host by and by.
  void open(std::string_view lane);
  /// Whether a call of this code could be sent now.
  [[nodiscard]] bool accepts(const DirectCall& call) const { return turn_of(call) == Turn::now; }
  /// The same, and whether it helps to wait until the lane is empty.
  [[nodiscard]] Turn turn_of(const DirectCall& call) const;
  /// False: there is no room now. What can never be sent is ended.
  [[nodiscard]] bool send(DirectCall& call);
  /// Until the call is done, has left this lane, or `until`.
  void drive_for(DirectCall& call, MonotonicTime until = MonotonicTime::max());
  /// Takes what answers there are and calls that wait. True: there were some. Calls of `owner` are
  /// this thread's.
  [[nodiscard]] bool look_for(const void* owner);
  /// Until there may be an answer, or `until`.
  void sleep(MonotonicTime until);
  /// One look at everything, without waiting.
  void look_around();
  /// The same, and whether all gets on.
  void look_after(MonotonicTime now) {
    look_around();
    relieve(now);
    check_time(now);
  }
  /// What an eventful lane gets before it is armed again.
  void look_around_for(std::chrono::nanoseconds time);
  /// Calls behind one that lasts unexpectedly long wait again in the queue, if others are idle.
  void relieve(MonotonicTime now);
  /// Gives up waiting for the executor's next word once that is overdue.
  void check_time(MonotonicTime now);
  [[nodiscard]] bool is_empty() const { return head_ == tail_; }
  [[nodiscard]] Result<std::unique_ptr<LaneRoom>> allocate(std::size_t size);

  // The driver, for a stream (worker_lane_stream.cpp).
  void begin(LaneStream& stream);
  /// Errors: `no_capacity`, `too_large`; `unreachable`: what became of the worker is to come.
  [[nodiscard]] Result<void> send_entry(LaneStream& stream, const StreamEntry& entry);
  /// Takes what has come, without waiting.
  void look_at(const LaneStream& stream);
  /// Until there is an answer for it, or it is done.
  void drive_for(const LaneStream& stream);

 private:
  enum class SlotState : std::uint8_t { unknown, announced, needs_code, ready, rejected };
  struct Slot {
    SlotState state = SlotState::unknown;
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    std::chrono::nanoseconds usual_run{-1};  // of its calls; negative: not known
  };
  struct Flight {
    DirectCall* call = nullptr;  // null: nobody wants the answer
    std::uint64_t request = 0;
    bool cancel_sent = false;
  };
  static constexpr std::size_t flight_limit = 256;
  static constexpr unsigned most_stale_answers = 3;  // to one call

  void disarm();
  [[nodiscard]] bool take_answers();
  void take_answer(const transport::LaneResponse& response);
  /// True: the answer is held, and not to be released.
  [[nodiscard]] bool fill(DirectCall& call, const transport::LaneResponse& response);
  void set_error(DirectCall& call, const transport::LaneResponse& response) const;
  void finish(DirectCall& call);
  void pump();
  void obey_callers();
  [[nodiscard]] bool check_due(DirectCall& call, MonotonicTime until);
  void announce();
  [[nodiscard]] Error::Details failure_of(const DirectCall& call, ErrorKind kind,
                                          std::string message) const;

  // worker_lane_stream.cpp
  void take_of_stream(const transport::LaneResponse& response);
  [[nodiscard]] bool await_code(LaneStream& stream);
  [[nodiscard]] bool stream_waits_for(const LeaseCode& code) const;
  void begin_again(LaneStream& stream);
  void end_stream(const transport::LaneResponse& response);
  void forget_stream();
  void lose_stream(const LaneEnded& how);
  void obey_stream();
  void check_due(const LaneStream& stream);
  /// Its answers wait until that one looks, and need nobody else.
  [[nodiscard]] bool has_attentive_owner() const;

  // worker_lane_socket.cpp
  void tell(const LaneMessage& message, const std::vector<int>& descriptors = {});
  void use_socket(LaneSocket socket);
  void connect_remote();
  void read_socket();
  void handle(Packet packet);
  void claimed(const LaneClaimed& message, std::vector<UniqueFd> descriptors);
  void open_remote(const LaneClaimed& message);
  void use_lane(OpenedLane opened, std::int64_t pid);
  void take_arrivals();
  void loaded(const LaneSlot& message);
  void rejected(const LaneRejected& message);

  // worker_lane_end.cpp
  void worker_ended(LaneEnded ended);
  void lane_failed(const Failure& why);
  void opening_failed(const Failure& why);
  void replace(const std::string& reason);
  void await_executor(MonotonicTime::duration patience);
  void stop_waiting();
  void detach(LanePhase next);
  void empty(const LaneEnded& how);
  void lost(DirectCall& call, const LaneEnded& how);
  void die(const Failure& why);

  LeaseCore& core_;
  const GrantedWorker worker_;
  alignas(64) std::atomic<bool> driven_{false};
  std::atomic<LanePhase> phase_{LanePhase::claiming};  // the driver writes
  std::atomic<unsigned> load_{0};                      // the driver writes
  std::atomic<bool> asleep_{false};                    // the driver writes
  std::atomic<std::int64_t> pid_{0};                   // the driver writes
  std::atomic<bool> close_wanted_{false};
  std::atomic<bool> is_timed_{false};  // the driver writes
  std::atomic<std::size_t> largest_input_{0};
  std::atomic<std::size_t> largest_output_{0};
  alignas(64) std::atomic<std::uint32_t> attention_{0};

  // The driver's.
  alignas(64) std::uint32_t attention_seen_ = 0;
  std::uint32_t codes_seen_ = 0;
  bool armed_ = false;
  const void* own_ = nullptr;  // the owner of calls that the thread that drives waits for
  unsigned last_code_ = 0;     // that was called
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t front_looked_ = 0;      // head_ when `relieve` looked first
  MonotonicTime front_since_;           // then
  std::shared_ptr<LaneEnd> end_;        // shared with what is lent from it
  std::shared_ptr<LaneStream> stream_;  // shared with its owner; has the lane for itself
  std::vector<Slot> slots_;             // by the code's number
  std::optional<LaneSocket> socket_;
  std::uint64_t socket_watch_ = 0;  // the lane thread's names for what it watches; 0: nothing
  std::uint64_t wake_watch_ = 0;
  UniqueFd attention_event_;  // wakes a driver that sleeps
  std::uint64_t socket_look_ticks_ = 0;
  std::array<Flight, flight_limit> flights_{};
  LaneKind kind_ = LaneKind::local;
  bool tcp_only_ = false;      // no RDMA, whatever the executor says of the network
  std::uint64_t opening_ = 0;  // counts the lanes of other hosts that were announced
  std::int64_t opening_pid_ = 0;
  unsigned failed_openings_ = 0;   // one after the other
  MonotonicTime patience_ends_{};  // while `is_timed_`
  bool replacement_asked_ = false;
  std::string trouble_;  // why the executor's word is waited for

  std::mutex arrivals_mutex_;
  std::atomic<bool> arrived_{false};
  std::optional<Result<LaneSocket>> arrived_socket_;  // guarded by arrivals_mutex_
  std::optional<Result<OpenedLane>> arrived_lane_;    // guarded by arrivals_mutex_
  std::uint64_t arrived_opening_ = 0;                 // guarded by arrivals_mutex_
};

}  // namespace orchid::sdk
