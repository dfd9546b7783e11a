// cuda/cuda_library.h: libcuda.so.1, loaded at run time.
#pragma once
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/cuda_abi.h"
#include "device/messages.h"
#include "driver/driver.h"

namespace orchid::executor::cuda {

/// Why a driver cannot be used: what `orchid doctor` and the executor's start say.
struct DriverAbsence {
  DeviceFault fault = DeviceFault::refused;
  std::string message;
  std::string remedy;  // what to do
};

/// The entry points. Stays loaded for the life of the process: the driver has threads.
class Library {
 public:
  /// Loads and initialises the driver; says what is missing: the library, a new enough one, or a
  /// card.
  [[nodiscard]] static std::expected<std::unique_ptr<Library>, DriverAbsence> open();

#define ORCHID_CUDA_POINTER(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  ORCHID_CUDA_ENTRY_POINTS(ORCHID_CUDA_POINTER)
#undef ORCHID_CUDA_POINTER

  /// "CUDA 12.4"
  [[nodiscard]] std::string version() const;
  /// Of all GPUs that this process sees.
  [[nodiscard]] std::vector<std::string> device_names() const;
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
  [[nodiscard]] std::string words(Result result) const;
  /// `step`: what was asked of the driver.
  [[nodiscard]] DriverFailure failure(Result result, std::string_view step) const;
  [[nodiscard]] DriverAbsence absence(Result result, std::string_view step) const;

 private:
  Library() = default;
  [[nodiscard]] const char* bind(void* library);
  int version_ = 0;
  int devices_ = 0;
};

[[nodiscard]] DriverError error_of(Result result);

}  // namespace orchid::executor::cuda
