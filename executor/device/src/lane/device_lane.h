// lane/device_lane.h: the device process's end of one worker's device lane: takes commands one
// after the other, and answers each when it is done.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/lane_commands.h"
#include "device/messages.h"
#include "driver/driver.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "lane/checked_command.h"
#include "lane/device_memory.h"
#include "lane/host_copy.h"
#include "lane/kernel_modules.h"
#include "lane/launch_queue.h"
#include "lane/pinned_ranges.h"
#include "transport/local_lane.h"

namespace orchid::executor {

/// What all lanes of a device process use, one at a time.
struct DeviceParts {
  Driver& driver;
  LaunchQueue& launches;  // idle when a lane begins and when it has ended
  CopyResources& copies;
};

/// Owned by the device process's thread.
class DeviceLane {
 public:
  using Report = std::function<void(const DeviceMessage&)>;
  /// Descriptors as `ServeLane` has them. Errors: `bad_request`, `system`.
  [[nodiscard]] static Result<std::unique_ptr<DeviceLane>> open(const DeviceParts& parts,
                                                                const ServeLane& terms,
                                                                std::vector<UniqueFd> descriptors,
                                                                Report report);

  /// Goes on with what can go on; true: something did. Errors: `bad_request`: the worker wrote
  /// nonsense; `end` it.
  [[nodiscard]] Result<bool> step();
  /// The context is gone, with all that this lane had.
  [[nodiscard]] const std::optional<DriverFailure>& broken() const { return broken_; }
  /// Answers what is in the lane with that; true: the worker has been told, now or before.
  [[nodiscard]] bool tell_broken();

  void load(const LoadKernels& order, const UniqueFd& ptx);
  void stop_call(std::uint64_t call);
  /// Takes no more commands. `message`: what was wrong, to the agent.
  void end(DeviceLaneEnd end, std::string message = {});
  [[nodiscard]] bool is_ending() const { return ending_.has_value(); }
  /// Once nothing runs any more: frees everything and tells the agent; true: this can be destroyed.
  [[nodiscard]] bool finish();

  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Something is to be looked at again by itself: the driver has it.
  [[nodiscard]] bool is_busy() const;
  /// Announces sleep: see `LaneWorker`. While a command is in hand none is taken, and there is no
  /// descriptor to wait for (-1).
  [[nodiscard]] bool prepare_to_sleep();
  void finish_sleep();
  [[nodiscard]] int wake_descriptor() const {
    return takes_commands() ? lane_.wake_descriptor() : -1;
  }

 private:
  struct CallMemory {
    std::optional<transport::LaneMemory> memory;
    std::unique_ptr<PinnedRanges> input;
    std::unique_ptr<PinnedRanges> output;
  };
  DeviceLane(const DeviceParts& parts, const ServeLane& terms, transport::LocalLaneWorker lane,
             std::optional<transport::LaneMemory> call, Report report);

  [[nodiscard]] bool takes_commands() const { return !ending_ && !command_; }
  [[nodiscard]] Result<bool> take();
  [[nodiscard]] bool work();
  void do_alloc();
  void do_launch();
  void do_wait();
  void do_free();
  void do_copy();
  void end_call();
  [[nodiscard]] std::optional<HostCopy::Job> copy_job();
  void answer_stopped();
  void answer(DeviceStatus status, std::uint64_t value, std::string_view message = {});
  void answer(const DriverFailure& failure);
  void finish_answer();
  void break_down(DriverFailure failure);
  bool advance_launches();
  void publish_progress();
  [[nodiscard]] bool is_stopped() const { return command_->command.call <= stopped_call_; }
  [[nodiscard]] bool answer_failed_launch();
  void tell_usage();
  void unpin();
  [[nodiscard]] std::uint64_t pinned() const;

  DeviceParts parts_;
  std::uint64_t number_;
  transport::LocalLaneWorker lane_;
  CallMemory call_memory_;
  Report report_;
  KernelModules modules_;
  DeviceMemory memory_;
  std::optional<CheckedCommand> command_;  // taken and not answered yet
  std::optional<HostCopy> copy_;           // of it
  std::uint64_t call_ = 0;                 // of the last command
  std::uint64_t stopped_call_ = 0;         // this one and those before it are to end
  std::uint64_t last_launch_ = 0;
  std::chrono::nanoseconds time_before_call_{0};
  std::optional<DriverFailure> broken_;
  bool has_told_broken_ = false;
  std::optional<DeviceLaneEnded> ending_;  // what the agent is told then
};

}  // namespace orchid::executor
