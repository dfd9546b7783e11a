// devices/device.h: where the kernels of a call run: the worker's own cores, or a GPU behind a
// device process.
//
// It stands behind the functions of orchid/kernel.h. device_api.cpp checks what an entry asks, and
// makes an error text or a status of what a device answers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "foundation/result.h"
#include "orchid/kernel.h"

struct orchid_call;

namespace orchid::executor {

/// What has been checked: the kernel is one, its arguments have its size, there are 1 to
/// ORCHID_MAXIMUM_ITEMS items. Valid for the time of the question.
struct KernelLaunch {
  const orchid_kernel& kernel;
  std::span<const std::byte> args;
  std::uint64_t items = 0;
};

/// `stopped`: the call has to stop (orchid_should_stop), and part of what was asked may have been
/// done.
enum class DeviceEnd : std::uint8_t { done, stopped };

/// One for each worker, for as long as it lives. The entry's thread asks everything, with the call
/// that runs: where to look whether it has to stop, what its deadline is, where its slabs are.
///
/// Failures become the text of the call's error: they name what is wrong and what to do. Nothing of
/// this throws through user code but std::bad_alloc.
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// ORCHID_DEVICE_CORES or ORCHID_DEVICE_GPU.
  [[nodiscard]] virtual std::int32_t kind() const = 0;

  /// At least one byte, aligned to 256. Null: there is no more.
  [[nodiscard]] virtual void* alloc(orchid_call& call, std::size_t size) = 0;
  /// False: `memory` is none that alloc has given to this call, and nothing has been done.
  [[nodiscard]] virtual bool free(orchid_call& call, void* memory) = 0;

  /// Both are over when they return, but for launches still on their way: those end first.
  [[nodiscard]] virtual Result<DeviceEnd> write(orchid_call& call, void* device,
                                                std::span<const std::byte> host) = 0;
  [[nodiscard]] virtual Result<DeviceEnd> read(orchid_call& call, std::span<std::byte> host,
                                               const void* device) = 0;

  /// May return before the launch has ended; those of one call end one after another.
  [[nodiscard]] virtual Result<DeviceEnd> launch(orchid_call& call, const KernelLaunch& launch) = 0;
  /// Until all launches of the call have ended. What failed in one of them is told here, or by
  /// whatever is asked next.
  [[nodiscard]] virtual Result<DeviceEnd> wait(orchid_call& call) = 0;

  /// The entry has returned or thrown: frees all that it has left. Returns why no other call may
  /// come to this worker, or nothing; valid until the next call.
  [[nodiscard]] virtual std::string_view end_call() = 0;
  /// Threads of this process that it keeps between calls.
  [[nodiscard]] virtual int thread_count() const { return 0; }
};

}  // namespace orchid::executor
