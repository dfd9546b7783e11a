// What we declare of NVIDIA's driver, against NVIDIA's own header where that is installed.
#include "cuda/cuda_abi.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>

#include "cuda/cuda_driver.h"
#include "scratch_folder.h"

#ifdef HAS_CUDA_HEADER
// So that the header declares each version of an entry point under its own name.
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
#endif

using namespace orchid::executor;

#ifdef HAS_CUDA_HEADER
namespace orchid::executor::cuda {
namespace {

/// Handles are pointers of other types there, and codes are enumerations.
template <typename Ours, typename Theirs>
constexpr bool is_alike =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename A, typename... As, typename B, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
struct SameCall<A (*)(As...), B (*)(Bs...)>
    : std::bool_constant<is_alike<A, B> && (is_alike<As, Bs> && ...)> {};

#define CHECK_ENTRY_POINT(name, symbol, ...)                                   \
  static_assert(SameCall<Result (*)(__VA_ARGS__), decltype(&::symbol)>::value, \
                #symbol " is declared in another way by NVIDIA");
ORCHID_CUDA_ENTRY_POINTS(CHECK_ENTRY_POINT)
#undef CHECK_ENTRY_POINT

static_assert(sizeof(Uuid) == sizeof(CUuuid));

}  // namespace
}  // namespace orchid::executor::cuda

TEST_CASE("our numbers of the driver's interface are NVIDIA's") {
  CHECK(cuda::error_out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuda::error_stub_library == CUDA_ERROR_STUB_LIBRARY);
  CHECK(cuda::error_device_unavailable == CUDA_ERROR_DEVICE_UNAVAILABLE);
  CHECK(cuda::error_no_device == CUDA_ERROR_NO_DEVICE);
  CHECK(cuda::error_invalid_device == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuda::error_ecc_uncorrectable == CUDA_ERROR_ECC_UNCORRECTABLE);
  CHECK(cuda::error_nvlink_uncorrectable == CUDA_ERROR_NVLINK_UNCORRECTABLE);
  CHECK(cuda::error_not_ready == CUDA_ERROR_NOT_READY);
  CHECK(cuda::error_illegal_address == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuda::error_launch_out_of_resources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  CHECK(cuda::error_launch_timeout == CUDA_ERROR_LAUNCH_TIMEOUT);
  CHECK(cuda::error_context_is_destroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuda::error_assert == CUDA_ERROR_ASSERT);
  CHECK(cuda::error_hardware_stack == CUDA_ERROR_HARDWARE_STACK_ERROR);
  CHECK(cuda::error_illegal_instruction == CUDA_ERROR_ILLEGAL_INSTRUCTION);
  CHECK(cuda::error_misaligned_address == CUDA_ERROR_MISALIGNED_ADDRESS);
  CHECK(cuda::error_invalid_address_space == CUDA_ERROR_INVALID_ADDRESS_SPACE);
  CHECK(cuda::error_invalid_pc == CUDA_ERROR_INVALID_PC);
  CHECK(cuda::error_launch_failed == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuda::error_system_not_ready == CUDA_ERROR_SYSTEM_NOT_READY);
  CHECK(cuda::error_system_driver_mismatch == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  CHECK(cuda::error_unknown == CUDA_ERROR_UNKNOWN);
  CHECK(cuda::context_blocking_sync == CU_CTX_SCHED_BLOCKING_SYNC);
  CHECK(cuda::stream_non_blocking == CU_STREAM_NON_BLOCKING);
  CHECK(cuda::event_default == CU_EVENT_DEFAULT);
  CHECK(cuda::attribute_threads_per_block == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  CHECK(cuda::attribute_multiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  CHECK(cuda::attribute_capability_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  CHECK(cuda::attribute_capability_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  CHECK(cuda::function_threads_per_block == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  CHECK(cuda::jit_error_log == CU_JIT_ERROR_LOG_BUFFER);
  CHECK(cuda::jit_error_log_size == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
}
#endif

TEST_CASE("NVIDIA's assembler takes the first kernel" * doctest::skip(std::string(PTXAS).empty())) {
  const orchid::tests::Scratch scratch;
  const auto source = scratch / "first.ptx";
  std::ofstream(source) << cuda::first_kernel_ptx() << std::flush;
  for (const std::string architecture : {"sm_75", "sm_80", "sm_90"})
    CHECK(std::system((std::string(PTXAS) + " -arch=" + architecture + " " + source.string() +
                       " -o " + (scratch / "first.cubin").string())
                          .c_str()) == 0);
}

TEST_CASE("the driver's errors say whether a call, a context or a GPU has failed") {
  CHECK(cuda::error_of(cuda::error_out_of_memory) == DriverError::out_of_memory);
  CHECK(cuda::error_of(cuda::error_launch_out_of_resources) == DriverError::refused);
  for (const auto error : {cuda::error_illegal_address, cuda::error_launch_failed,
                           cuda::error_assert, cuda::error_launch_timeout})
    CHECK(cuda::error_of(error) == DriverError::crashed);
  for (const auto error : {cuda::error_ecc_uncorrectable, cuda::error_unknown,
                           cuda::error_device_unavailable, cuda::error_no_device})
    CHECK(cuda::error_of(error) == DriverError::lost);
}
