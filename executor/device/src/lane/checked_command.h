// lane/checked_command.h: a worker's command, taken out of shared memory and looked at.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/lane_commands.h"
#include "driver/driver.h"
#include "foundation/result.h"
#include "transport/lane.h"

namespace orchid::executor {

struct CheckedCommand {
  std::uint64_t number = 0;  // the lane's request id
  DeviceCommand command;
  DeviceCommandKind kind = DeviceCommandKind::wait;
  DeviceHostArea area = DeviceHostArea::payload;
  std::string kernel;                // of a launch; letters, digits and '_'
  std::unique_ptr<KernelArgs> args;  // of a launch, copied
  /// Of a write: bytes of the lane, which the worker can change at any time.
  std::span<std::byte> payload;
};

/// How many bytes the slabs of the call's lane have.
struct CallSlabs {
  std::uint64_t request_bytes = 0;
  std::uint64_t response_bytes = 0;
};

/// Errors: `bad_request`: no worker of ours writes this. What a function can cause is no error
/// here.
[[nodiscard]] Result<CheckedCommand> check_command(const transport::LaneRequest& request,
                                                   const CallSlabs& slabs);

}  // namespace orchid::executor
