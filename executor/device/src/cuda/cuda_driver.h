// cuda/cuda_driver.h: NVIDIA's driver behind the interface that all GPUs have here.
#pragma once
#include <expected>
#include <memory>

#include "cuda/cuda_library.h"
#include "driver/driver.h"

namespace orchid::executor::cuda {

/// The first GPU that the process sees (CUDA_VISIBLE_DEVICES): context and queue are made, and a
/// first kernel has been compiled by the driver and has run, so that its threads, libraries and
/// files are there.
[[nodiscard]] std::expected<std::unique_ptr<Driver>, DriverAbsence> open_driver();

/// PTX of the first kernel: stores begin + end at the address in its arguments.
[[nodiscard]] const char* first_kernel_ptx();

}  // namespace orchid::executor::cuda
