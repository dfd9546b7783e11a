#include "bare/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace orchid::gpu_check {
namespace {

/// A grid strides over its items: more blocks than these only cost.
constexpr std::uint64_t waves = 32;

}  // namespace

BareDriver::BareDriver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(std::string("there is no driver: ") + ::dlerror());
  bind(library);
  check(init_(0), "cuInit");
  check(device_get_(&device_, 0), "cuDeviceGet");
  Context context = nullptr;
  check(context_create_(&context, 0, device_), "cuCtxCreate");
  check(stream_create_(&stream_, cuda::stream_non_blocking), "cuStreamCreate");
}

void BareDriver::bind(void* library) {
#define ORCHID_BARE_BIND(name, symbol, ...)                              \
  name##_ = std::bit_cast<decltype(name##_)>(::dlsym(library, #symbol)); \
  if (name##_ == nullptr) throw std::runtime_error("libcuda.so.1 lacks " #symbol);
  ORCHID_BARE_ENTRY_POINTS(ORCHID_BARE_BIND)
#undef ORCHID_BARE_BIND
}

void BareDriver::check(Result result, const char* step) const {
  if (result == cuda::success) return;
  const char* name = nullptr;
  if (error_name_(result, &name) != cuda::success || name == nullptr) name = "an unknown error";
  throw std::runtime_error(std::string(step) + ": " + name + " (" + std::to_string(result) + ")");
}

std::string BareDriver::model() const {
  std::array<char, cuda::longest_device_name> name{};
  check(device_name_(name.data(), static_cast<int>(name.size()) - 1, device_), "cuDeviceGetName");
  return name.data();
}

std::string BareDriver::architecture() const {
  int major = 0;
  int minor = 0;
  check(device_attribute_(&major, cuda::attribute_capability_major, device_),
        "cuDeviceGetAttribute");
  check(device_attribute_(&minor, cuda::attribute_capability_minor, device_),
        "cuDeviceGetAttribute");
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

cuda::Module BareDriver::load(const std::string& ptx) {
  Module module = nullptr;
  check(module_load_(&module, ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
  return module;
}

BareKernel BareDriver::find(Module module, const char* kernel) {
  Function function = nullptr;
  int blocks = 0;
  int threads = 0;
  const std::string symbol = std::string("orchid_kernel_") + kernel;
  check(module_function_(&function, module, symbol.c_str()), kernel);
  check(suggest_block_(&blocks, &threads, function, nullptr, 0, 0),
        "cuOccupancyMaxPotentialBlockSize");
  return {.function = function,
          .suggested_threads = static_cast<std::uint32_t>(std::max(threads, 1)),
          .suggested_blocks = static_cast<std::uint32_t>(std::max(blocks, 1))};
}

void BareDriver::launch(const BareKernel& kernel, const BareLaunch& launch) {
  const std::uint64_t threads = launch.threads != 0 ? launch.threads : kernel.suggested_threads;
  const std::uint64_t wanted = (launch.items + threads - 1) / threads;
  const std::uint64_t blocks = std::min(wanted, waves * kernel.suggested_blocks);
  std::uint64_t begin = 0;
  std::uint64_t end = launch.items;
  // Only read from.
  auto* const arguments = const_cast<std::byte*>(launch.arguments.data());
  std::array<void*, 3> parameters{arguments, &begin, &end};
  check(
      launch_kernel_(kernel.function, static_cast<unsigned>(blocks), 1, 1,
                     static_cast<unsigned>(threads), 1, 1, 0, stream_, parameters.data(), nullptr),
      "cuLaunchKernel");
}

void BareDriver::wait() { check(stream_wait_(stream_), "cuStreamSynchronize"); }

std::uint64_t BareDriver::allocate(std::size_t bytes) {
  Address address = 0;
  check(memory_allocate_(&address, bytes), "cuMemAlloc");
  return address;
}

bool BareDriver::try_allocate(std::uint64_t& address, std::size_t bytes) {
  Address found = 0;
  const Result result = memory_allocate_(&found, bytes);
  if (result == cuda::error_out_of_memory) return false;
  check(result, "cuMemAlloc");
  address = found;
  return true;
}

void BareDriver::free(std::uint64_t address) { check(memory_free_(address), "cuMemFree"); }

std::span<std::byte> BareDriver::allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(host_allocate_(&memory, bytes, 0), "cuMemHostAlloc");
  return {static_cast<std::byte*>(memory), bytes};
}

void BareDriver::copy_to_device(std::uint64_t address, std::span<const std::byte> host) {
  check(copy_to_device_(address, host.data(), host.size(), stream_), "cuMemcpyHtoDAsync");
  wait();
}

void BareDriver::copy_to_host(std::span<std::byte> host, std::uint64_t address) {
  check(copy_to_host_(host.data(), address, host.size(), stream_), "cuMemcpyDtoHAsync");
  wait();
}

}  // namespace orchid::gpu_check
