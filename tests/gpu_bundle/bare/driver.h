// bare/driver.h: NVIDIA's driver as a program without Orchid would use it: one context, one stream,
// pinned memory, and every wait is the driver's own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cuda/cuda_abi.h"

namespace orchid::gpu_check {

namespace cuda = executor::cuda;

/// What is called besides what orchid-device calls.
#define ORCHID_BARE_ENTRY_POINTS(X)                 \
  ORCHID_CUDA_ENTRY_POINTS(X)                       \
  X(stream_wait, cuStreamSynchronize, cuda::Stream) \
  X(host_allocate, cuMemHostAlloc, void**, std::size_t, unsigned)

/// Known before it is launched.
struct BareKernel {
  cuda::Function function = nullptr;
  std::uint32_t suggested_threads = 1;  // of a block
  std::uint32_t suggested_blocks = 1;   // the fewest that fill the card
};

struct BareLaunch {
  std::span<const std::byte> arguments;
  std::uint64_t items = 0;
  std::uint32_t threads = 0;  // of a block; 0: what the driver suggests
};

/// Owned by one thread. All of it ends with the process. Throws std::runtime_error with the
/// driver's words.
class BareDriver {
 public:
  BareDriver();
  BareDriver(const BareDriver&) = delete;
  BareDriver& operator=(const BareDriver&) = delete;

  [[nodiscard]] std::string model() const;
  [[nodiscard]] std::string architecture() const;

  [[nodiscard]] cuda::Module load(const std::string& ptx);
  /// `kernel`: without "orchid_kernel_".
  [[nodiscard]] BareKernel find(cuda::Module module, const char* kernel);
  /// A grid over all items, as the occupancy calculator would have it.
  void launch(const BareKernel& kernel, const BareLaunch& launch);
  void wait();

  [[nodiscard]] std::uint64_t allocate(std::size_t bytes);
  /// False: there is not so much.
  [[nodiscard]] bool try_allocate(std::uint64_t& address, std::size_t bytes);
  void free(std::uint64_t address);
  [[nodiscard]] std::span<std::byte> allocate_pinned(std::size_t bytes);
  /// Both until the bytes are there.
  void copy_to_device(std::uint64_t address, std::span<const std::byte> host);
  void copy_to_host(std::span<std::byte> host, std::uint64_t address);

 private:
  void bind(void* library);
  void check(cuda::Result result, const char* step) const;

#define ORCHID_BARE_POINTER(name, symbol, ...) cuda::Result (*name##_)(__VA_ARGS__) = nullptr;
  using Device = cuda::Device;
  using Address = cuda::Address;
  using Context = cuda::Context;
  using Module = cuda::Module;
  using Function = cuda::Function;
  using Stream = cuda::Stream;
  using Event = cuda::Event;
  using Uuid = cuda::Uuid;
  using Result = cuda::Result;
  ORCHID_BARE_ENTRY_POINTS(ORCHID_BARE_POINTER)
#undef ORCHID_BARE_POINTER
  Device device_ = 0;
  Stream stream_ = nullptr;
};

}  // namespace orchid::gpu_check
