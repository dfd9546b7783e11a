// ucx/ends.h: the state of the two ends of a lane between hosts.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

#include "transport/payload_rooms.h"
#include "transport/ucx_lane.h"
#include "ucx/inbox.h"
#include "ucx/link.h"
#include "ucx/slab.h"

namespace orchid::transport {

/// Numbers of calls count from 0; a request id is the number plus 1.
class UcxLaneClient::State final : public FrameSink {
 public:
  State(Slab requests, Slab responses, std::unique_ptr<UcxLink> link);
  [[nodiscard]] const char* on_frame(const Frame& frame,
                                     std::span<const std::byte> payload) noexcept override;

  [[nodiscard]] Result<std::span<std::byte>> allocate(std::size_t size);
  void abandon(std::span<const std::byte> room);
  [[nodiscard]] Result<std::uint64_t> send(const LaneCall& call);
  [[nodiscard]] Result<std::optional<LaneResponse>> receive();
  void release(const LaneResponse& response);
  [[nodiscard]] std::size_t in_flight() const { return next_request_ - next_response_; }
  [[nodiscard]] bool prepare_to_sleep();
  [[nodiscard]] int wake_descriptor() const { return link_->wake_descriptor(); }
  [[nodiscard]] bool is_at_end() const { return link_->is_at_end(); }
  void trim();

 private:
  struct Call {
    std::uint64_t piece = InputRooms::none;  // of the request slab, where its input lies
    std::uint32_t pending = 0;               // sends of it that are not complete
    bool released = false;
    bool of_stream = false;  // it may be answered by a chunk
  };
  [[nodiscard]] Result<LaneResponse> read_response(const LaneEntry& entry) const;

  Slab requests_;
  Slab responses_;  // the image of the worker's
  std::unique_ptr<UcxLink> link_;
  InputRooms pieces_;
  Inbox inbox_;
  std::array<Call, ring_entries> calls_{};
  std::uint64_t next_request_ = 0;
  std::uint64_t next_response_ = 0;
  std::uint64_t oldest_unreleased_ = 0;
  std::uint64_t told_ = 0;        // releases that the worker knows of
  std::uint64_t told_bytes_ = 0;  // released, and the worker does not know it
};

class UcxLaneWorker::State final : public FrameSink {
 public:
  State(Slab requests, Slab responses, std::unique_ptr<UcxLink> link);
  [[nodiscard]] const char* on_frame(const Frame& frame,
                                     std::span<const std::byte> payload) noexcept override;

  [[nodiscard]] Result<std::optional<LaneRequest>> receive();
  [[nodiscard]] bool ready();
  [[nodiscard]] std::byte* output(std::size_t size);
  [[nodiscard]] Result<void> answer(const LaneWorker::Answer& answer);
  [[nodiscard]] Result<void> flush();
  [[nodiscard]] bool prepare_to_sleep();
  [[nodiscard]] int wake_descriptor() const { return link_->wake_descriptor(); }

 private:
  void reclaim();
  void give_memory_back();
  [[nodiscard]] bool place(std::size_t size);

  Slab requests_;  // the image of the client's
  Slab responses_;
  std::unique_ptr<UcxLink> link_;
  Inbox inbox_;
  OutputRooms outputs_;
  std::array<std::uint32_t, ring_entries> pending_{};  // sends of each answer that are not complete
  std::uint64_t next_ = 0;                             // the call that is taken or answered next
  std::uint64_t released_ = 0;                         // answers before it are the worker's again
  bool taken_ = false;
  bool trim_ = false;
  std::size_t output_size_ = 0;
  alignas(64) std::array<std::byte, inline_bytes> inline_output_{};
};

}  // namespace orchid::transport
