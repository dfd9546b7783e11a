// driver/driver.h: all that a device process asks of a GPU's driver, whoever made it.
//
// One GPU, one context, one queue: launches, copies and marks run in the order in which they were
// given to it. Nothing here waits for the GPU; who wants to know asks whether a mark has been
// passed.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "device/lane_commands.h"

namespace orchid::executor {

enum class DriverError : std::uint8_t {
  refused,        // this call alone; all goes on
  out_of_memory,  // the same
  crashed,        // a kernel did what ends the context: nothing works any more in this process
  lost,           // the GPU itself failed, or was reset
};
struct DriverFailure {
  DriverError error = DriverError::refused;
  std::string message;  // the driver's words
};
/// Nothing works any more in this process.
[[nodiscard]] inline bool ends_context(const DriverFailure& failure) {
  return failure.error == DriverError::crashed || failure.error == DriverError::lost;
}
template <typename T>
using DriverResult = std::expected<T, DriverFailure>;

struct DeviceDescription {
  std::string driver;        // "CUDA 12.4"
  std::string model;         //
  std::string uuid;          // "GPU-…"
  std::string architecture;  // "sm_80"
  std::uint64_t memory = 0;  // bytes
  std::uint32_t multiprocessors = 1;
  std::uint32_t most_threads = 1024;  // of a block
};

/// Handles belong to the driver that made them.
enum class ModuleHandle : std::uintptr_t {};
enum class FunctionHandle : std::uintptr_t {};
enum class MarkHandle : std::uintptr_t {};

struct DriverFunction {
  FunctionHandle handle{};
  std::uint32_t suggested_threads = 1;  // of a block
  std::uint32_t suggested_blocks = 1;   // the fewest that fill the device
  std::uint32_t most_threads = 1;       // of a block of this kernel
};

/// What a driver may read of a kernel's arguments. It knows their size from the kernel's code, and
/// the worker says another one perhaps; behind the arguments there are zeros.
using KernelArgs = std::array<std::byte, 2 * std::size_t{most_kernel_args}>;

struct SubRangeLaunch {
  FunctionHandle function{};
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;  // of each
  KernelArgs* args = nullptr;
  std::uint64_t begin = 0;  // items
  std::uint64_t end = 0;
};

/// Owned by one thread, the one that opened it.
class Driver {
 public:
  virtual ~Driver() = default;
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  [[nodiscard]] virtual const DeviceDescription& device() const = 0;

  /// Compiles and loads PTX. On failure the message has the compiler's log.
  [[nodiscard]] virtual DriverResult<ModuleHandle> load(const std::string& ptx) = 0;
  virtual void unload(ModuleHandle module) = 0;
  [[nodiscard]] virtual DriverResult<DriverFunction> find(ModuleHandle module,
                                                          const std::string& symbol) = 0;
  [[nodiscard]] virtual DriverResult<void> launch(const SubRangeLaunch& launch) = 0;

  /// All zero once what was given to the queue so far is done.
  [[nodiscard]] virtual DriverResult<std::uint64_t> allocate(std::uint64_t size) = 0;
  [[nodiscard]] virtual DriverResult<void> free(std::uint64_t address) = 0;
  /// The host's bytes must stay until a mark behind the copy has been passed.
  [[nodiscard]] virtual DriverResult<void> copy_to_device(std::uint64_t address,
                                                          std::span<const std::byte> host) = 0;
  [[nodiscard]] virtual DriverResult<void> copy_to_host(std::span<std::byte> host,
                                                        std::uint64_t address) = 0;
  /// Whole pages of the host, which copies then use directly.
  [[nodiscard]] virtual DriverResult<void> pin(std::span<std::byte> host) = 0;
  virtual void unpin(std::span<std::byte> host) = 0;

  [[nodiscard]] virtual DriverResult<MarkHandle> make_mark() = 0;
  /// Puts it into the queue, and takes it away from where it was.
  [[nodiscard]] virtual DriverResult<void> place(MarkHandle mark) = 0;
  [[nodiscard]] virtual DriverResult<bool> is_passed(MarkHandle mark) = 0;
  /// Between two marks that have been passed, on the GPU's clock.
  [[nodiscard]] virtual DriverResult<std::chrono::nanoseconds> time_between(MarkHandle first,
                                                                            MarkHandle second) = 0;
};

[[nodiscard]] inline std::unexpected<DriverFailure> driver_failed(DriverError error,
                                                                  std::string message) {
  return std::unexpected(DriverFailure{error, std::move(message)});
}

}  // namespace orchid::executor
