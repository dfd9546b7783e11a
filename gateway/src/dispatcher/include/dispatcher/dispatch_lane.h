// dispatcher/dispatch_lane.h: one claimed worker as its dispatcher sees it: the lane socket to its
// executor (docs/PROTOCOL.md §3), the lane itself (§4), the modules that it has loaded and the
// calls that are in it.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatcher/dispatch_call.h"
#include "dispatcher/dispatch_watch.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "lane_client/attached_data.h"
#include "lane_client/code_slots.h"
#include "lane_client/conversation.h"
#include "lane_client/flights.h"
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
  /// The worker would soon have no room for answers, because a slow client holds an old one.
  [[nodiscard]] bool clogged() const {
    return held > 0 && (answers_since >= 128 || bytes_since >= (8U << 20));
  }
};

class DispatchLane;
class DispatchPlace;

/// What a lane tells its dispatcher, on its thread.
class LaneEvents {
 public:
  virtual ~LaneEvents() = default;
  virtual void lane_claimed(DispatchLane& lane) = 0;  // the first worker, or a replacement
  virtual void lane_loaded(DispatchLane& lane, std::uint64_t function, const LaneSlot& slot) = 0;
  virtual void lane_rejected(DispatchLane& lane, std::uint64_t function,
                             const LaneRejected& rejected) = 0;
  /// `end`: that of the late worker, which has left the lane.
  virtual void lane_worker_ended(DispatchLane& lane, const std::shared_ptr<LaneEnd>& end,
                                 const LaneEnded& ended) = 0;
  virtual void lane_broken(DispatchLane& lane, const Failure& why) = 0;
  /// Nothing that it was to be given is on its way any more.
  virtual void lane_attached(DispatchLane& lane) = 0;
  virtual void lane_not_attached(DispatchLane& lane, const LaneNotAttached& refused) = 0;
};

using lane_client::LanePhase;

/// Owned by its dispatcher, whose thread runs the io_context.
class DispatchLane {
 public:
  using Codes = lane_client::CodeSlots<std::shared_ptr<const FunctionVersion>>;
  /// Connects and claims a worker of the place, which outlives it. Errors: `unreachable`, `system`.
  [[nodiscard]] static Result<std::unique_ptr<DispatchLane>> open(boost::asio::io_context& io,
                                                                  const Clock& clock,
                                                                  DispatchPlace& place,
                                                                  LaneEvents& events);
  DispatchLane(const DispatchLane&) = delete;
  DispatchLane& operator=(const DispatchLane&) = delete;

  /// Tells the executor that calls of this module will come. False: nothing, as it has been told.
  /// `time_left`: of the calls that wait for it, if any do.
  bool announce(std::uint64_t function, std::shared_ptr<const FunctionVersion> version,
                std::optional<std::chrono::milliseconds> time_left = std::nullopt);
  /// The worker is to map what it has not of this; null: nothing. False: nothing was asked for.
  bool attach(const CallData* data);
  [[nodiscard]] bool has(const CallData* data) const {
    return data == nullptr || attached_.has_all(data->ids);
  }
  [[nodiscard]] bool is_attaching() const { return attached_.is_waiting(); }
  /// The worker said that it lacks some of it.
  void forget(const CallData& data) { attached_.forget(data.ids); }
  /// What no call was given since then need not stay for this worker.
  void detach_unused(MonotonicTime before);
  /// Tells the executor, if the call that runs now is wanted no more.
  void cancel_unwanted();
  /// Gives up on this worker, which leaves the lane; a new one is claimed over the same socket.
  void replace(const std::string& reason);
  /// What the executor has said by now counts before what is known from elsewhere.
  void hear();
  /// Closes the socket, which gives the worker back.
  void close();
  /// The executor's next word is overdue, or will never come. Why this lane is of no use is in
  /// `trouble` then.
  [[nodiscard]] bool is_overdue(MonotonicTime now) {
    return !unsent_.empty() || conversation_.expire(now) == lane_client::Step::end;
  }
  [[nodiscard]] const std::string& trouble() const {
    return unsent_.empty() ? conversation_.trouble() : unsent_;
  }

  /// By the numbers of modules.
  [[nodiscard]] const Codes& codes() const { return codes_; }
  void forget_code(std::uint64_t function) { codes_.forget(function); }
  [[nodiscard]] DispatchPlace& place() const { return place_; }
  [[nodiscard]] const WorkerGrant& grant() const;
  [[nodiscard]] LanePhase phase() const { return conversation_.phase(); }
  /// Its worker is claimed for a module, and not there yet.
  [[nodiscard]] bool is_coming() const { return module != 0 && phase() == LanePhase::claiming; }
  /// Null unless a worker is there.
  [[nodiscard]] const std::shared_ptr<LaneEnd>& end() const { return end_; }
  /// Wakes the event loop when an answer comes; between prepare_to_sleep and finish_sleep of the
  /// client.
  void arm_wake() {
    if (wake_watch_) wake_watch_->arm();
  }

  // The dispatcher's book-keeping.
  lane_client::Flights<DispatchCall> flights;
  std::chrono::nanoseconds backlog{0};  // what they are expected to take
  unsigned long_calls = 0;              // of them
  MonotonicTime front_since;            // when the first of them became the first
  MonotonicTime idle_since;
  bool full = false;         // it refused a call for want of room; until an answer comes
  std::uint64_t module = 0;  // whose calls alone it takes; 0: not decided, or all
  std::shared_ptr<const FunctionVersion> last_version;  // that it ran, or is to run
  bool called = false;                                  // its worker has had a call
  bool trimmed = true;  // no memory of large past payloads is left in it

 private:
  DispatchLane(boost::asio::io_context& io, const Clock& clock, DispatchPlace& place,
               LaneEvents& events)
      : front_since(clock.now()),
        idle_since(front_since),
        io_(io),
        clock_(clock),
        place_(place),
        events_(events),
        conversation_(front_since + lane_client::claim_within) {}
  using Files = std::vector<UniqueFd>;
  bool send(const LaneMessage& message, const std::vector<int>& descriptors = {});
  void read_socket();
  void hear(const LaneClaimed& message, Files& files);
  void hear(const LaneRefused& message, Files& files);
  void hear(const LaneNeedCode& message, Files& files);
  void hear(const LaneCompiling& message, Files& files);
  void hear(const LaneSlot& message, Files& files);
  void hear(const LaneRejected& message, Files& files);
  void hear(const LaneProgress& /*message*/, Files& /*files*/) {}  // it is in the lane
  void hear(const LaneEnded& message, Files& files);
  void hear(const LaneAttached& message, Files& files);
  void hear(const LaneNotAttached& message, Files& files);
  void hear(const LaneFetch& /*message*/, Files& /*files*/) {}  // crews are asked that
  std::shared_ptr<LaneEnd> detach();
  void broken(const Failure& why);

  boost::asio::io_context& io_;
  const Clock& clock_;
  DispatchPlace& place_;
  LaneEvents& events_;
  lane_client::Conversation conversation_;
  Codes codes_;
  lane_client::AttachedData attached_;
  std::string unsent_;  // why an executor that was not told something never answers; or empty
  UniqueFd socket_;     // before the watch, which borrows it
  std::shared_ptr<LaneEnd> end_;
  std::uint64_t worker_ = 0;  // the executor's number for it
  std::unique_ptr<ReadableWatch> socket_watch_;
  std::unique_ptr<ReadableWatch> wake_watch_;
};

}  // namespace orchid::gateway
