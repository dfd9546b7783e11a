// dispatcher/dispatch_lane.h: one granted worker as its dispatcher sees it: the lane socket to its
// executor (docs/PROTOCOL.md §3), the lane itself (§4), the modules that it has loaded and the
// calls that are in it.
#pragma once
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatcher/dispatch_call.h"
#include "dispatcher/dispatch_policy.h"
#include "dispatcher/dispatch_watch.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "leases/worker_supply.h"
#include "protocol/lane_messages.h"
#include "transport/local_lane.h"

namespace orchid::gateway {

/// The client's end of a lane, and how much of its answers is still being sent to clients. Shared
/// by the lane and those answers, all on one thread: an answer's bytes must stay mapped also when
/// the worker has gone.
struct LaneEnd {
  explicit LaneEnd(transport::LocalLaneClient lane_client) : client(std::move(lane_client)) {}
  transport::LocalLaneClient client;
  unsigned held = 0;           // answers not yet released
  unsigned answers_since = 0;  // since the first of them
  std::uint64_t bytes_since = 0;
  MonotonicTime last_answer;
  /// The worker would soon have no room for answers, because a slow client holds an old one.
  [[nodiscard]] bool clogged() const {
    return held > 0 && (answers_since >= 128 || bytes_since >= (8U << 20));
  }
};

class DispatchLane;

/// What a lane tells its dispatcher, on its thread.
class LaneEvents {
 public:
  virtual ~LaneEvents() = default;
  virtual void lane_claimed(DispatchLane& lane) = 0;  // the first worker, or a replacement
  virtual void lane_loaded(DispatchLane& lane, std::uint64_t function, const LaneSlot& slot) = 0;
  virtual void lane_rejected(DispatchLane& lane, std::uint64_t function,
                             const LaneRejected& rejected) = 0;
  virtual void lane_worker_ended(DispatchLane& lane, const LaneEnded& ended) = 0;
  virtual void lane_broken(DispatchLane& lane, const Failure& why) = 0;
};

enum class LanePhase : std::uint8_t { claiming, ready, replacing, dead };

/// Owned by its dispatcher, whose thread runs the io_context.
class DispatchLane {
 public:
  struct Slot {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
  };
  /// Connects and claims. Errors: `unreachable`, `system`.
  [[nodiscard]] static Result<std::unique_ptr<DispatchLane>> open(boost::asio::io_context& io,
                                                                  const Clock& clock,
                                                                  WorkerGrant grant,
                                                                  LaneEvents& events);
  DispatchLane(const DispatchLane&) = delete;
  DispatchLane& operator=(const DispatchLane&) = delete;

  /// Tells the executor that calls of this module will come. Nothing if it has been told.
  void announce(std::uint64_t function, std::shared_ptr<const FunctionVersion> version);
  void cancel(std::uint64_t request);
  /// Gives up on this worker; a new one is claimed over the same socket. The caller has taken the
  /// calls out.
  void replace(const std::string& reason);
  /// What the executor has said by now counts before what is known from elsewhere.
  void hear();
  /// The worker is gone, or is no longer wanted: nothing is taken from the lane any more.
  void detach(LanePhase next);
  /// Closes the socket, which gives the worker back.
  void close();

  [[nodiscard]] const Slot* slot_of(std::uint64_t function) const {
    const auto found = slots_.find(function);
    return found == slots_.end() ? nullptr : &found->second;
  }
  void forget_slot(std::uint64_t function) { slots_.erase(function); }
  [[nodiscard]] bool is_loading(std::uint64_t function) const;
  [[nodiscard]] bool loads_anything() const { return !loading_.empty(); }
  /// Whether it loads a module, by number, of which that is true.
  template <typename Predicate>
  [[nodiscard]] bool loads_any(Predicate predicate) const {
    return std::ranges::any_of(loading_, predicate, &Loading::function);
  }
  [[nodiscard]] const WorkerGrant& grant() const { return grant_; }
  [[nodiscard]] LanePhase phase() const { return phase_; }
  [[nodiscard]] MonotonicTime since() const { return since_; }  // of the phase
  /// Null unless a worker is there.
  [[nodiscard]] const std::shared_ptr<LaneEnd>& end() const { return end_; }
  /// Wakes the event loop when an answer comes; between prepare_to_sleep and finish_sleep of the
  /// client.
  void arm_wake() {
    if (wake_watch_) wake_watch_->arm();
  }

  // The dispatcher's book-keeping.
  CallList running;                     // in the order in which they were sent
  std::chrono::nanoseconds backlog{0};  // what they are expected to take
  unsigned long_calls = 0;              // of them
  MonotonicTime front_since;            // when the first of them became the first
  MonotonicTime idle_since;
  bool suspect = false;  // its executor does not answer the gateway
  bool leaving = false;  // to be given back when it is idle
  bool full = false;     // it refused a call for want of room; until an answer comes
  std::shared_ptr<const FunctionVersion> last_version;  // that it ran
  bool trimmed = true;  // no memory of large past payloads is left in it

 private:
  struct Loading {
    std::uint64_t function = 0;
    std::shared_ptr<const FunctionVersion> version;
  };
  DispatchLane(boost::asio::io_context& io, const Clock& clock, WorkerGrant grant,
               LaneEvents& events)
      : front_since(clock.now()),
        idle_since(front_since),
        io_(io),
        clock_(clock),
        grant_(std::move(grant)),
        events_(events),
        since_(front_since) {}
  void send(const LaneMessage& message, const std::vector<int>& descriptors = {});
  void read_socket();
  void handle(Packet packet);
  void claimed(const LaneClaimed& message, Packet packet);
  void need_code(const LaneNeedCode& message);
  [[nodiscard]] std::optional<Loading> take_loading(const std::string& digest);
  void broken(const Failure& why);

  boost::asio::io_context& io_;
  const Clock& clock_;
  WorkerGrant grant_;
  LaneEvents& events_;
  LanePhase phase_ = LanePhase::claiming;
  MonotonicTime since_;
  UniqueFd socket_;  // before the watch, which borrows it
  std::shared_ptr<LaneEnd> end_;
  std::unique_ptr<ReadableWatch> socket_watch_;
  std::unique_ptr<ReadableWatch> wake_watch_;
  std::unordered_map<std::uint64_t, Slot> slots_;  // by the number of the module's DispatchFunction
  std::vector<Loading> loading_;
};

}  // namespace orchid::gateway
