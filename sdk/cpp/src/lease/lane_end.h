// lease/lane_end.h: the client's end of one worker's lane, and what is lent from it: rooms that
// inputs are written to, and answers that are read in place.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "transport/lane.h"
#include "transport/local_lane.h"

namespace orchid::sdk {

/// Lives for as long as something of it is lent, also when its worker has gone. `client` belongs to
/// who drives the lane (worker_lane.h); what is given back waits for that one.
class LaneEnd {
 public:
  LaneEnd(std::unique_ptr<transport::LaneClient> lane_client,
          const transport::LocalLaneClient* local_client)
      : client(std::move(lane_client)), local(local_client) {}
  std::unique_ptr<transport::LaneClient> client;
  const transport::LocalLaneClient* local;  // the same, within a host; null: another host's

  // Any thread.
  void give_back(std::span<const std::byte> room) {
    const std::lock_guard lock(mutex_);
    rooms_.push_back(room);
    waiting_.store(true, std::memory_order_release);
  }
  void give_back(const transport::LaneResponse& answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(answer);
    waiting_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool gone() const { return gone_.load(std::memory_order_acquire); }

  // Who drives the lane.
  void collect() {
    if (waiting_.load(std::memory_order_relaxed)) take_back();
  }
  void leave_behind() { gone_.store(true, std::memory_order_release); }

 private:
  void take_back() {
    const std::lock_guard lock(mutex_);
    waiting_.store(false, std::memory_order_relaxed);
    for (const auto& room : rooms_) client->abandon(room);
    for (const auto& answer : answers_) client->release(answer);
    rooms_.clear();
    answers_.clear();
  }
  std::atomic<bool> gone_{false};  // no worker is at the other end
  std::atomic<bool> waiting_{false};
  std::mutex mutex_;
  std::vector<std::span<const std::byte>> rooms_;  // guarded by mutex_
  std::vector<transport::LaneResponse> answers_;   // guarded by mutex_
};

/// What a Buffer holds. Given back unless a call has used it up.
struct LaneRoom {
  LaneRoom(std::shared_ptr<LaneEnd> lane_end, std::span<std::byte> room)
      : end(std::move(lane_end)), bytes(room) {}
  LaneRoom(const LaneRoom&) = delete;
  LaneRoom& operator=(const LaneRoom&) = delete;
  ~LaneRoom() {
    if (!used) end->give_back(bytes);
  }
  std::shared_ptr<LaneEnd> end;  // shared: the bytes stay mapped when the worker has gone
  std::span<std::byte> bytes;
  bool used = false;  // a call took it: the answer to that call frees it
};

/// What an Output holds.
struct HeldAnswer {
  HeldAnswer(std::shared_ptr<LaneEnd> lane_end, const transport::LaneResponse& response)
      : end(std::move(lane_end)), answer(response) {}
  HeldAnswer(const HeldAnswer&) = delete;
  HeldAnswer& operator=(const HeldAnswer&) = delete;
  ~HeldAnswer() { end->give_back(answer); }
  std::shared_ptr<LaneEnd> end;
  transport::LaneResponse answer;
};

}  // namespace orchid::sdk
