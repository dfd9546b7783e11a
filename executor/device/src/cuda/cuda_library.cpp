#include "cuda/cuda_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <bit>

namespace orchid::executor::cuda {
namespace {

constexpr const char* library_name = "libcuda.so.1";
/// CUDA 11.4: reads PTX for an A100, and tells the UUID of a slice (MIG).
constexpr int oldest_version = 11040;
constexpr int major_factor = 1000;
constexpr int minor_factor = 10;

std::string version_text(int version) {
  return fmt::format("CUDA {}.{}", version / major_factor, version % major_factor / minor_factor);
}

DriverAbsence too_old(const std::string& what) {
  return {
      DeviceFault::old_driver, what,
      "install NVIDIA's driver for " + version_text(oldest_version) + " (470.42), or a newer one"};
}

}  // namespace

DriverError error_of(Result result) {
  switch (result) {
    case error_out_of_memory:
      return DriverError::out_of_memory;
    case error_illegal_address:
    case error_launch_timeout:
    case error_context_is_destroyed:
    case error_assert:
    case error_hardware_stack:
    case error_illegal_instruction:
    case error_misaligned_address:
    case error_invalid_address_space:
    case error_invalid_pc:
    case error_launch_failed:
      return DriverError::crashed;
    // What a card says that has fallen off the bus, was reset, or has memory that fails. The last
    // one is what is left of many Xid faults.
    case error_device_unavailable:
    case error_no_device:
    case error_invalid_device:
    case error_ecc_uncorrectable:
    case error_nvlink_uncorrectable:
    case error_contained:
    case error_system_not_ready:
    case error_external_device:
    case error_unknown:
      return DriverError::lost;
    default:
      return DriverError::refused;
  }
}

/// The name of an entry point that is missing, or null.
const char* Library::bind(void* library) {
#define ORCHID_CUDA_BIND(name, symbol, ...)                        \
  name = std::bit_cast<decltype(name)>(::dlsym(library, #symbol)); \
  if (name == nullptr) return #symbol;
  ORCHID_CUDA_ENTRY_POINTS(ORCHID_CUDA_BIND)
#undef ORCHID_CUDA_BIND
  return nullptr;
}

std::expected<std::unique_ptr<Library>, DriverAbsence> Library::open() {
  // Never closed: the driver's threads run in it.
  void* const loaded = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr)
    return std::unexpected(DriverAbsence{DeviceFault::no_driver,
                                         fmt::format("there is no driver: {}", ::dlerror()),
                                         "install NVIDIA's driver, or do not offer the GPU"});
  std::unique_ptr<Library> library(new Library());
  if (const char* const missing = library->bind(loaded))
    return std::unexpected(too_old(fmt::format("{} lacks {}", library_name, missing)));
  if (const Result result = library->driver_version(&library->version_); result != success)
    return std::unexpected(library->absence(result, "asking for the driver's version"));
  if (library->version_ < oldest_version)
    return std::unexpected(too_old("the driver is for " + version_text(library->version_)));
  if (const Result result = library->init(0); result != success)
    return std::unexpected(library->absence(result, "starting the driver"));
  const Result result = library->device_count(&library->devices_);
  if (result != success || library->devices_ == 0)
    return std::unexpected(
        library->absence(result == success ? error_no_device : result, "counting the GPUs"));
  return library;
}

std::string Library::version() const { return version_text(version_); }

std::vector<std::string> Library::device_names() const {
  std::vector<std::string> names;
  for (int index = 0; index < devices_; ++index) {
    std::array<char, longest_device_name> name{};
    Device device = 0;
    if (device_get(&device, index) == success &&
        device_name(name.data(), static_cast<int>(name.size()) - 1, device) == success)
      names.emplace_back(name.data());
  }
  return names;
}

std::string Library::words(Result result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(result, &name) != success || name == nullptr) name = "an unknown error";
  if (error_text(result, &text) != success || text == nullptr) text = "the driver has no words";
  return fmt::format("{} ({}): {}", name, result, text);
}

DriverFailure Library::failure(Result result, std::string_view step) const {
  // Launches are cut into short pieces of items, so it was one that cannot be cut.
  const std::string_view remedy =
      result == error_launch_timeout
          ? "; an item of the kernel, or a group of them, takes longer than the driver lets a "
            "kernel have this card: give each item less to do, and launch the kernel more often, "
            "as steps of a step function"
          : "";
  return {error_of(result), fmt::format("{}: {}{}", step, words(result), remedy)};
}

DriverAbsence Library::absence(Result result, std::string_view step) const {
  const std::string what = fmt::format("{}: {}", step, words(result));
  switch (result) {
    case error_no_device:
    case error_invalid_device:
      return {DeviceFault::no_device, what + "; the driver is for " + version(),
              "see whether nvidia-smi lists a GPU, and whether the batch job was given one"};
    case error_stub_library:
      return {DeviceFault::no_driver, what + "; this libcuda.so.1 is the CUDA toolkit's stub",
              "take its folder out of LD_LIBRARY_PATH, and install NVIDIA's driver"};
    case error_newer_driver_needed:
    case error_system_driver_mismatch:
      return {DeviceFault::old_driver, what,
              "library and kernel module of the driver differ: reboot, or install one version of "
              "both"};
    default:
      return {DeviceFault::refused, what, "see the kernel's log (dmesg, lines of NVRM and Xid)"};
  }
}

}  // namespace orchid::executor::cuda
