// device/lane_commands.h: what a worker asks of its device process over a local lane of their own,
// in which the worker is the client (transport/local_lane.h).
//
// A request's input is a `DeviceCommand`, and what the kind says follows it. An answer's payload is
// a `DeviceAnswer`, followed by a message for people unless its status is `ok`. Answers come in the
// order of the commands; the lane's request id says which one is answered. The device process
// trusts nothing of it: what no worker of ours would write ends the lane, all else is answered.
//
// A launch is answered once it stands in line, and its request id is its number. Launches run one
// after the other. `free`, `write` and `read` are done when the launches before them have ended;
// `alloc` is done at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "foundation/units.h"
#include "transport/lane_layout.h"

namespace orchid::executor {

enum class DeviceCommandKind : std::uint8_t {
  /// `size` bytes of device memory. Answer: `value` is the address, a multiple of 256.
  alloc = 1,
  /// `address`, as `alloc` told it.
  free = 2,
  /// Host to device: `size` bytes to `address`, which may lie within what was allocated.
  write = 3,
  /// Device to host.
  read = 4,
  /// `size` items of a kernel: its name follows (without "orchid_kernel_"), then `args_size` bytes.
  /// 0 items: it has ended as soon as the launches before it have.
  launch = 5,
  /// Until launch number `offset` has ended; 0: all of the call's. Answered `not_yet` when another
  /// command comes behind it, so that none has to wait for it: ask again.
  wait = 6,
  /// The call is over: launches that have not begun are forgotten, and all its memory is freed
  /// before this is answered.
  end_call = 7,
};

/// Where the host's bytes of `write` and `read` are.
enum class DeviceHostArea : std::uint8_t {
  payload = 0,      // write: they follow the command; read: they follow the answer
  call_input = 1,   // `offset` in the request slab of the call's lane, if that is a local one
  call_output = 2,  // `offset` in its response slab
};

struct DeviceCommand {
  std::uint64_t call = 0;     // the worker's number of the call (StatusPage::state); it never falls
  std::uint64_t address = 0;  // of device memory
  std::uint64_t size = 0;     // bytes; items of a launch, at most 2^48
  std::uint64_t offset = 0;
  std::uint32_t module = 0;      // of a launch: the worker's slot, and its generation
  std::uint32_t generation = 0;  //
  std::uint32_t args_size = 0;   // at most `most_kernel_args`
  std::uint32_t group_size = 0;  // items of a block; 0: what the driver suggests
  std::uint16_t name_length = 0;
  std::uint8_t kind = 0;
  std::uint8_t area = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(DeviceCommand) == 56 && std::is_trivially_copyable_v<DeviceCommand>);
static_assert(sizeof(DeviceCommand) <= transport::inline_bytes);

enum class DeviceStatus : std::uint8_t {
  ok = 0,
  not_yet = 1,        // only of `wait`
  refused = 2,        // the call's own fault: an address, a size, a kernel that is not there
  out_of_memory = 3,  // of the lease's limit, or of the device
  stopped = 4,        // the call is to end: the agent has said so
  crashed = 5,        // a kernel has; the device process ends, and its memory is lost
  lost = 6,           // the GPU itself failed; the device process ends
};

struct DeviceAnswer {
  std::uint64_t value = 0;  // alloc: the address. wait: kernel time of the call, in nanoseconds
  std::uint8_t status = 0;
  std::uint8_t reserved[7] = {};
};
static_assert(sizeof(DeviceAnswer) == 16 && std::is_trivially_copyable_v<DeviceAnswer>);

constexpr std::uint32_t most_kernel_args = 4096;  // bytes; ORCHID_MAXIMUM_ARGS of orchid/kernel.h
constexpr std::uint64_t most_kernel_items = std::uint64_t{1} << 48;
constexpr std::size_t longest_kernel_name = 256;
/// Launches of a lane that stand in line; one more is refused until some have ended.
constexpr std::size_t most_waiting_launches = 128;
/// Of `write` and `read` with `DeviceHostArea::payload`; more is asked for in pieces.
constexpr ByteCount most_payload_bytes = 8_MiB;
/// Four such pieces each way. Pages are taken when first touched.
constexpr transport::LaneGeometry device_lane_geometry{.request_bytes = 40_MiB,
                                                       .response_bytes = 40_MiB};

}  // namespace orchid::executor
