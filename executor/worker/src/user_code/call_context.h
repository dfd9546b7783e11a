// worker/call_context.h: what an `orchid_call*` points to.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "foundation/tick_clock.h"
#include "protocol/limits.h"
#include "transport/local_lane.h"
#include "user_code/call_log.h"
#include "worker/status_page.h"

namespace orchid::executor {
class CallMemory;
class CallObjects;
class CallStream;
class CrewLane;
class Device;
class InlineCalls;
class MadeModules;

/// A data object that the call was given.
struct CallData {
  const std::byte* bytes = nullptr;  // null: it is empty
  std::uint64_t size = 0;
};
}  // namespace orchid::executor

/// The running call. Made anew for each call, on the worker's thread.
struct orchid_call {
  orchid::transport::LaneWorker& lane;
  orchid::executor::StatusPage& page;
  orchid::executor::CallLog& log;
  orchid::executor::Device& device;      // where its kernels run
  std::atomic<std::uint64_t>& progress;  // of the lane: transport/lane_layout.h
  const orchid::TickRate& rate;
  std::uint64_t number;      // in this worker
  std::uint32_t slot;        // of its module
  std::uint32_t generation;  // of what is in there
  std::uint64_t request_id;  // in the lane
  std::uint64_t started_ticks;
  std::uint64_t deadline_ns;
  std::int32_t core;
  std::int32_t core_count;
  std::uint64_t output_limit;                        // bytes
  std::size_t output_size = 0;                       // of what was written and not sent
  std::span<const orchid::executor::CallData> data;  // in the order of the call's table
  orchid::executor::CallObjects& objects;            // that it opens and makes
  orchid::executor::CallMemory& memory;              // that it has leased
  orchid::executor::CallStream* stream = nullptr;    // null: it has one input and one output
  orchid::executor::CrewLane* crew = nullptr;        // null: its worker is in none
  std::size_t message_size = 0;
  std::array<char, orchid::limits::message_size.value>* message;
  orchid::executor::InlineCalls* inline_calls = nullptr;  // of its worker
  orchid::executor::MadeModules* made = nullptr;          // likewise
  unsigned level = 0;  // of an entry that another one has invoked: how deep; 0: the call's own
  bool output_refused = false;  // to an entry of a level

  [[nodiscard]] std::string_view message_text() const { return {message->data(), message_size}; }
  void set_message(std::string_view text);
};
