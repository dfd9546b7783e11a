// transport/local_lane.h: the lane between a client and a worker of the same host, over one memory
// file.
//
// Each end belongs to one thread. Neither end trusts the other: headers are copied out of shared
// memory before they are checked, and a bad index, length or offset ends the lane with
// `bad_request`, never with a wild access.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/running_log.h"
#include "transport/lane.h"
#include "transport/lane_layout.h"
#include "transport/payload_rooms.h"

namespace orchid::transport {

/// What the executor makes and hands to both sides: the memory, and an eventfd for each direction.
struct LaneDescriptors {
  UniqueFd memory;
  UniqueFd wake_worker;
  UniqueFd wake_client;
  LaneGeometry geometry;
};
/// A sealed memory file of the geometry's size, all zero, and two non-blocking eventfds. Pages are
/// taken when first touched.
[[nodiscard]] Result<LaneDescriptors> make_lane(const LaneGeometry& geometry);
/// All zero again, as it was made, and without pages; while neither end uses it.
[[nodiscard]] Result<void> empty_lane(const LaneDescriptors& lane);
/// The same lane once more, with duplicated descriptors.
[[nodiscard]] Result<LaneDescriptors> duplicate(const LaneDescriptors& lane);

/// The mapping of a lane's memory; unmapped at the end of its life.
class LaneMemory {
 public:
  [[nodiscard]] static Result<LaneMemory> map(int memory_fd, const LaneGeometry& geometry);
  LaneMemory(LaneMemory&& other) noexcept;
  LaneMemory& operator=(LaneMemory&& other) noexcept;
  LaneMemory(const LaneMemory&) = delete;
  LaneMemory& operator=(const LaneMemory&) = delete;
  ~LaneMemory();

  [[nodiscard]] LaneControl& control() const { return *reinterpret_cast<LaneControl*>(base_); }
  [[nodiscard]] LaneEntry* request_ring() const {
    return reinterpret_cast<LaneEntry*>(base_ + request_ring_offset);
  }
  [[nodiscard]] LaneEntry* response_ring() const {
    return reinterpret_cast<LaneEntry*>(base_ + response_ring_offset);
  }
  /// Whether the worker has published its answer to the request, or to a later one.
  [[nodiscard]] bool is_answered(std::uint64_t request_id) const;
  [[nodiscard]] std::atomic<std::uint8_t>* released() const {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(base_ + released_offset);
  }
  [[nodiscard]] LogHead& log_head() const {
    return *reinterpret_cast<LogHead*>(base_ + log_offset);
  }
  [[nodiscard]] char* log_text() const {
    return reinterpret_cast<char*>(base_ + log_offset + sizeof(LogHead));
  }
  [[nodiscard]] std::span<std::byte> request_slab() const {
    return {base_ + slab_offset, geometry_.request_bytes.value};
  }
  [[nodiscard]] std::span<std::byte> response_slab() const {
    return {base_ + slab_offset + geometry_.request_bytes.value, geometry_.response_bytes.value};
  }

 private:
  LaneMemory(std::byte* base, const LaneGeometry& geometry) : base_(base), geometry_(geometry) {}
  std::byte* base_ = nullptr;
  LaneGeometry geometry_;
};

/// What an end has seen of its own eventfd, to which the other process can write anything.
struct WakeWatch {
  unsigned unprovoked = 0;  // ends of sleep in a row without a wake
  bool flooded = false;     // it held what no number of wakes comes to: `receive` fails from now on
};

/// The client's end. An input of up to 64 bytes travels in the ring entry, a larger one in the
/// request slab.
class LocalLaneClient final : public LaneClient {
 public:
  [[nodiscard]] static Result<LocalLaneClient> attach(LaneDescriptors descriptors);

  [[nodiscard]] Result<std::span<std::byte>> allocate(std::size_t size) override;
  void abandon(std::span<const std::byte> room) override;
  [[nodiscard]] Result<std::uint64_t> send(const LaneCall& call) override;
  [[nodiscard]] Result<std::optional<LaneResponse>> receive() override;
  void release(const LaneResponse& response) override;
  [[nodiscard]] std::size_t in_flight() const override { return next_request_ - next_response_; }
  [[nodiscard]] bool prepare_to_sleep() override;
  void finish_sleep() override;  // drains the eventfd
  [[nodiscard]] int wake_descriptor() const override { return descriptors_.wake_client.get(); }
  void trim() override;

  /// As the worker's end has it.
  void use_wake_descriptors(int wake_worker, int wake_client);
  /// The other end has been replaced, and the memory is all zero, as when it was made. What was
  /// sent and not answered is forgotten, and so are answers that were not released.
  void restart();

  /// What the running call has logged so far, also after its worker has died; empty when it is
  /// another call's.
  [[nodiscard]] RunningLog running_log(std::uint64_t request_id) const;
  /// How far the running call says it is, from 0 to 1; nothing when it has not said, or is another.
  [[nodiscard]] std::optional<double> running_progress(std::uint64_t request_id) const;

 private:
  LocalLaneClient(LaneDescriptors descriptors, LaneMemory memory);
  [[nodiscard]] const char* read_response(const LaneEntry& entry, LaneResponse& response) const;
  void settle_wake();

  LaneDescriptors descriptors_;
  LaneMemory memory_;
  WakeWatch watch_;
  std::uint64_t settled_ = 0;            // for all calls before this one the worker surely wakes
  std::uint64_t next_request_ = 0;       // number of the next call; its id is one more
  std::uint64_t next_response_ = 0;      // answers come in the order of the calls
  std::uint64_t oldest_unreleased_ = 0;  // ring entries from here on are still in use
  std::array<bool, ring_entries> released_{};
  std::array<bool, ring_entries> of_streams_{};  // requests that may be answered by chunks
  std::array<std::uint64_t, ring_entries> pieces_of_requests_{};  // `none`: inline
  InputRooms pieces_;                                             // of the request slab
};

/// The worker's end.
class LocalLaneWorker final : public LaneWorker {
 public:
  [[nodiscard]] static Result<LocalLaneWorker> attach(LaneDescriptors descriptors);

  [[nodiscard]] Result<std::optional<LaneRequest>> receive() override;
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] std::byte* output(std::size_t size) override;
  [[nodiscard]] Result<void> answer(const Answer& answer) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void finish_sleep() override;
  [[nodiscard]] int wake_descriptor() const override { return descriptors_.wake_worker.get(); }

  /// The same eventfds under other numbers, which stay open for as long as the process does; those
  /// of `attach` are closed.
  void use_wake_descriptors(int wake_worker, int wake_client);
  /// Whether a request lies behind the one that is being worked on.
  [[nodiscard]] bool another_waits() const;
  [[nodiscard]] LogHead& log_head() const { return memory_.log_head(); }
  [[nodiscard]] char* log_text() const { return memory_.log_text(); }
  /// Where inputs and outputs lie that do not fit into an entry.
  [[nodiscard]] std::span<const std::byte> input_slab() const { return memory_.request_slab(); }
  [[nodiscard]] std::span<const std::byte> output_slab() const { return memory_.response_slab(); }
  [[nodiscard]] std::atomic<std::uint64_t>& progress() const {
    return memory_.control().progress.value;
  }

 private:
  [[nodiscard]] const char* read_request(LaneEntry& entry, LaneRequest& request) const;
  LocalLaneWorker(LaneDescriptors descriptors, LaneMemory memory);
  void free_told(std::uint8_t held_answers);
  void reclaim();
  [[nodiscard]] bool place(std::size_t size);

  LaneDescriptors descriptors_;
  LaneMemory memory_;
  WakeWatch watch_;
  std::uint64_t next_ = 0;  // number of the call that is taken or answered next
  bool taken_ = false;      // call `next_` is being worked on
  OutputRooms outputs_;     // of the response slab
  std::size_t output_size_ = 0;
  alignas(64) std::array<std::byte, inline_bytes> inline_output_{};
};

}  // namespace orchid::transport
