// cuda/cuda_abi.h: what is called of libcuda.so.1, declared by ourselves, so that Orchid is built
// without NVIDIA's headers. The names are those that the library exports, with their versions;
// tests/unit/device compares types and numbers with NVIDIA's own header where that is installed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace orchid::executor::cuda {

using Result = int;                  // CUresult
using Device = int;                  // CUdevice
using Address = unsigned long long;  // CUdeviceptr
struct ContextBody;
struct ModuleBody;
struct FunctionBody;
struct StreamBody;
struct EventBody;
using Context = ContextBody*;
using Module = ModuleBody*;
using Function = FunctionBody*;
using Stream = StreamBody*;
using Event = EventBody*;
struct Uuid {
  char bytes[16];
};

constexpr Result success = 0;
constexpr Result error_out_of_memory = 2;
constexpr Result error_stub_library = 34;
constexpr Result error_newer_driver_needed = 36;
constexpr Result error_device_unavailable = 46;
constexpr Result error_no_device = 100;
constexpr Result error_invalid_device = 101;
constexpr Result error_ecc_uncorrectable = 214;
constexpr Result error_nvlink_uncorrectable = 220;
constexpr Result error_contained = 226;
constexpr Result error_not_ready = 600;
constexpr Result error_illegal_address = 700;
constexpr Result error_launch_out_of_resources = 701;
constexpr Result error_launch_timeout = 702;
constexpr Result error_context_is_destroyed = 709;
constexpr Result error_assert = 710;
constexpr Result error_hardware_stack = 714;
constexpr Result error_illegal_instruction = 715;
constexpr Result error_misaligned_address = 716;
constexpr Result error_invalid_address_space = 717;
constexpr Result error_invalid_pc = 718;
constexpr Result error_launch_failed = 719;
constexpr Result error_system_not_ready = 802;
constexpr Result error_system_driver_mismatch = 803;
constexpr Result error_external_device = 911;
constexpr Result error_unknown = 999;

constexpr std::size_t longest_device_name = 128;  // that we ask for
constexpr unsigned context_blocking_sync = 4;     // CU_CTX_SCHED_BLOCKING_SYNC
constexpr unsigned stream_non_blocking = 1;       // CU_STREAM_NON_BLOCKING
constexpr unsigned event_default = 0;             // CU_EVENT_DEFAULT
constexpr int attribute_threads_per_block = 1;    // CU_DEVICE_ATTRIBUTE_…
constexpr int attribute_multiprocessors = 16;
constexpr int attribute_capability_major = 75;
constexpr int attribute_capability_minor = 76;
constexpr int function_threads_per_block = 0;  // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
constexpr int jit_error_log = 5;               // CU_JIT_ERROR_LOG_BUFFER
constexpr int jit_error_log_size = 6;          // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES

/// One line for each entry point: how we call it, the exported name, its arguments.
#define ORCHID_CUDA_ENTRY_POINTS(X)                                                              \
  X(init, cuInit, unsigned)                                                                      \
  X(driver_version, cuDriverGetVersion, int*)                                                    \
  X(device_count, cuDeviceGetCount, int*)                                                        \
  X(device_get, cuDeviceGet, Device*, int)                                                       \
  X(device_name, cuDeviceGetName, char*, int, Device)                                            \
  X(device_uuid, cuDeviceGetUuid_v2, Uuid*, Device)                                              \
  X(device_memory, cuDeviceTotalMem_v2, std::size_t*, Device)                                    \
  X(device_attribute, cuDeviceGetAttribute, int*, int, Device)                                   \
  X(context_create, cuCtxCreate_v2, Context*, unsigned, Device)                                  \
  X(module_load, cuModuleLoadDataEx, Module*, const void*, unsigned, int*, void**)               \
  X(module_unload, cuModuleUnload, Module)                                                       \
  X(module_function, cuModuleGetFunction, Function*, Module, const char*)                        \
  X(function_attribute, cuFuncGetAttribute, int*, int, Function)                                 \
  X(suggest_block, cuOccupancyMaxPotentialBlockSize, int*, int*, Function, std::size_t (*)(int), \
    std::size_t, int)                                                                            \
  X(launch_kernel, cuLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned,   \
    unsigned, unsigned, Stream, void**, void**)                                                  \
  X(memory_allocate, cuMemAlloc_v2, Address*, std::size_t)                                       \
  X(memory_free, cuMemFree_v2, Address)                                                          \
  X(memory_fill, cuMemsetD8Async, Address, unsigned char, std::size_t, Stream)                   \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, Address, const void*, std::size_t, Stream)             \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, void*, Address, std::size_t, Stream)                     \
  X(host_register, cuMemHostRegister_v2, void*, std::size_t, unsigned)                           \
  X(host_unregister, cuMemHostUnregister, void*)                                                 \
  X(stream_create, cuStreamCreate, Stream*, unsigned)                                            \
  X(event_create, cuEventCreate, Event*, unsigned)                                               \
  X(event_record, cuEventRecord, Event, Stream)                                                  \
  X(event_query, cuEventQuery, Event)                                                            \
  X(event_elapsed, cuEventElapsedTime, float*, Event, Event)                                     \
  X(error_name, cuGetErrorName, Result, const char**)                                            \
  X(error_text, cuGetErrorString, Result, const char**)

}  // namespace orchid::executor::cuda
