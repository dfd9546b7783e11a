// devices/call_parts.h: a worker with a call, as far as a device sees it.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "call_memory.h"
#include "call_objects.h"
#include "devices/device.h"
#include "user_code/call_context.h"

namespace orchid::executor::test {

/// On which nothing comes.
class IdleLane final : public transport::LaneWorker {
 public:
  Result<std::optional<transport::LaneRequest>> receive() override { return std::nullopt; }
  [[nodiscard]] bool ready() const override { return false; }
  std::byte* output(std::size_t) override { return nullptr; }
  Result<void> answer(const Answer&) override { return {}; }
  bool prepare_to_sleep() override { return false; }
  void finish_sleep() override {}
  [[nodiscard]] int wake_descriptor() const override { return -1; }
};

/// All that a call refers to but its device: a base of fixtures, which have that and `call`.
struct CallParts {
  CallParts() { page.stop.store(no_stop); }
  /// Call number 1.
  [[nodiscard]] orchid_call make_call(Device& device) {
    return {.lane = lane,
            .page = page,
            .log = log,
            .device = device,
            .progress = progress,
            .rate = rate,
            .number = 1,
            .request_id = 1,
            .started_ticks = 0,
            .deadline_ns = 0,
            .core = -1,
            .core_count = 1,
            .output_limit = 0,
            .objects = objects,
            .memory = memory,
            .message = &text};
  }

  TickRate rate = TickRate::measure();
  ServiceClient depot{-1};  // there is none
  DataMappings data;
  CallObjects objects{depot, data};
  CallMemory memory{depot};
  IdleLane lane;
  StatusPage page{};
  transport::LogHead log_head{};
  std::vector<char> log_text = std::vector<char>(limits::log_size.value);
  CallLog log{log_head, log_text.data()};
  std::atomic<std::uint64_t> progress{0};
  std::array<char, limits::message_size.value> text{};
};

}  // namespace orchid::executor::test
