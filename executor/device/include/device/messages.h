// device/messages.h: what the agent and a device process tell each other over a packet socket, as
// JSON. One device process has one GPU, and serves one lane at a time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "foundation/result.h"

namespace orchid::executor {

/// Why a GPU cannot be used, or not any more.
enum class DeviceFault : std::uint8_t {
  no_driver,   // its library is not there
  old_driver,  // it lacks what we call
  no_device,   // there is a driver, but not this GPU
  refused,     // the driver or the system says no, for another reason
  crashed,     // a kernel did what ends its context (an address that is not its own)
  lost,        // the GPU itself: memory errors that cannot be corrected, a reset, off the bus
};
[[nodiscard]] std::string_view to_string(DeviceFault fault);
[[nodiscard]] std::optional<DeviceFault> parse_device_fault(std::string_view name);

// From the agent.

/// The first message.
struct DeviceStart {
  std::string gpu;               // its index, as nvidia-smi counts; or its UUID: "GPU-…", "MIG-…"
  std::uint64_t data_limit = 0;  // bytes of host memory, beyond what the context has taken
};
/// Descriptors: the device lane's memory, its eventfd that wakes the worker (here: the device
/// process), its eventfd that wakes the client (here: the worker); then the memory of the call's
/// lane, unless that lane is to another host and its bytes are 0 both. The lane before must have
/// ended.
struct ServeLane {
  std::uint64_t lane = 0;                // not 0; never used again
  std::uint64_t memory_limit = 0;        // bytes of device memory that its calls may have at a time
  std::uint64_t call_request_bytes = 0;  // the geometry of the call's lane
  std::uint64_t call_response_bytes = 0;
};
/// Descriptor: PTX, as a sealed memory file. Answered by `KernelsLoaded` or `KernelsRefused`.
/// Replaces what was there under this number.
struct LoadKernels {
  std::uint64_t lane = 0;
  std::uint32_t module = 0;  // the worker's slot
  std::uint32_t generation = 0;
};
/// Deadline or cancel: commands of this call and of those before it are answered `stopped` from now
/// on; what runs ends with its sub-range.
struct StopCall {
  std::uint64_t lane = 0;
  std::uint64_t call = 0;  // the worker's number of it
};
/// The worker has ended, or is about to. Answered by `DeviceLaneEnded` once the sub-range that runs
/// is over and everything of the lane is freed: an agent that waits in vain ends the process.
struct EndLane {
  std::uint64_t lane = 0;
};

// From the device process.

/// Confined, its first kernel has run.
struct DeviceReady {
  std::string driver;        // "CUDA 12.4"
  std::string model;         // "NVIDIA A100-SXM4-40GB"
  std::string uuid;          // "GPU-…"
  std::string architecture;  // what PTX is made for: "sm_80"
  std::uint64_t memory = 0;  // bytes of the device
  std::uint32_t multiprocessors = 0;
  std::uint64_t start_us = 0;
};
/// The process ends soon after it. Of `crashed` and `lost` the driver's words are in the message;
/// before `DeviceReady` it says why the GPU cannot be offered, and what to do.
struct DeviceEnded {
  DeviceFault fault = DeviceFault::refused;
  std::string message;
};
struct KernelsLoaded {
  std::uint64_t lane = 0;
  std::uint32_t module = 0;
  std::uint32_t generation = 0;
  std::uint64_t load_us = 0;
};
/// The message has the log of the driver's compiler.
struct KernelsRefused {
  std::uint64_t lane = 0;
  std::uint32_t module = 0;
  std::uint32_t generation = 0;
  std::string message;
};
/// Whose doing it is that a lane has ended.
enum class DeviceLaneEnd : std::uint8_t {
  asked,   // the agent's: it is the answer to `EndLane`
  worker,  // it wrote what none of ours does
  system,  // nobody's: the process could not take the lane
};
[[nodiscard]] std::string_view to_string(DeviceLaneEnd end);
[[nodiscard]] std::optional<DeviceLaneEnd> parse_device_lane_end(std::string_view name);

/// `message`: what was wrong; empty where the agent has asked.
struct DeviceLaneEnded {
  std::uint64_t lane = 0;
  DeviceLaneEnd end = DeviceLaneEnd::asked;
  std::string message;
};
/// Behind each call (`end_call`), and at the lane's end. Sums are of this process.
struct DeviceUsage {
  std::uint64_t lane = 0;
  std::uint64_t call = 0;
  std::uint64_t memory = 0;       // bytes of device memory that the lane has now
  std::uint64_t peak_memory = 0;  // the most that the lane had at a time
  std::uint64_t pinned = 0;       // bytes of the slabs that the call has registered with the driver
  std::uint64_t kernel_us = 0;    // in which kernels ran
  std::uint64_t launches = 0;
  std::uint64_t sub_ranges = 0;       // into which they were cut
  std::uint64_t long_sub_ranges = 0;  // that took more than 20 ms
};

using DeviceMessage =
    std::variant<DeviceStart, ServeLane, LoadKernels, StopCall, EndLane, DeviceReady, DeviceEnded,
                 KernelsLoaded, KernelsRefused, DeviceLaneEnded, DeviceUsage>;

[[nodiscard]] std::string encode(const DeviceMessage& message);
/// Errors: `bad_request`, naming the field that is missing or wrong.
[[nodiscard]] Result<DeviceMessage> parse_device_message(std::string_view text);

}  // namespace orchid::executor
