// The functions of orchid/function.h and orchid/kernel.h for entries that run in the program
// itself. A program that has no such entry does not link this file.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "function_abi/core_memory.h"
#include "function_abi/launch_check.h"
#include "orchid/kernel.h"
#include "orchid/native_twin.h"

/// One call, on the thread that made it.
struct orchid_call {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> output;
  std::size_t output_size = 0;
  std::string message;
  orchid::function_abi::CoreMemory device_memory;
};

namespace {

constexpr const char* no_data_here =
    "a call within the program opens and makes no data objects: call the function through a lease";

constexpr const char* no_memory_here =
    "a call within the program opens no leased memory: use Client::memory, or call the function "
    "through a lease";
constexpr const char* no_modules_here =
    "orchid_deploy_module: a call within the program is in no crew, and makes no modules: call the "
    "function through Client::crew";
constexpr const char* no_children_here =
    "orchid_spawn: a call within the program is in no crew, and has no children";

std::int32_t refuse(orchid_call* call, std::string why) {
  call->message = std::move(why);
  return ORCHID_ERROR;
}

}  // namespace

extern "C" {

void* orchid_output(orchid_call* call, std::size_t size) {
  // A line more: an empty output must not look like a refusal.
  try {
    call->output.resize(size / sizeof(orchid_call::Line) + 1);
  } catch (const std::exception&) {
    return nullptr;
  }
  call->output_size = size;
  return call->output.data();
}

void* orchid_append(orchid_call* call, std::size_t size) {
  const std::size_t written = call->output_size;
  auto* room = static_cast<std::byte*>(orchid_output(call, written + size));
  return room == nullptr ? nullptr : room + written;
}

/// The whole input came with the call, and the whole output goes with its return.
std::int32_t orchid_exchange(orchid_call*, const void** input, std::size_t* size) {
  *input = nullptr;
  *size = 0;
  return ORCHID_END_OF_INPUT;
}

void orchid_error(orchid_call* call, const char* message, std::size_t size) {
  call->message.assign(message, size);
}

void orchid_log(orchid_call*, const char* text, std::size_t size) {
  std::fwrite(text, 1, size, stderr);
}

int orchid_should_stop(orchid_call*) { return 0; }
void orchid_progress(orchid_call*, double) {}
std::int64_t orchid_time_left_ns(orchid_call*) { return std::numeric_limits<std::int64_t>::max(); }
std::int32_t orchid_invoke_inline(orchid_call* call, const char*, const void*, std::size_t,
                                  const void** output, std::size_t* output_size) {
  if (output != nullptr) *output = nullptr;
  if (output_size != nullptr) *output_size = 0;
  call->message =
      "orchid_invoke_inline: a call within the program has no other entries: call the function "
      "through a "
      "lease";
  return ORCHID_NO_FUNCTION;
}
std::int32_t orchid_forward(orchid_call* call, std::uint32_t, const char*, const void*,
                            std::size_t) {
  return refuse(call,
                "orchid_forward: a call within the program is in no crew, and cannot go on at "
                "another member");
}
std::int32_t orchid_forward_to_data(orchid_call* call, const char*, const char*, const void*,
                                    std::size_t) {
  return refuse(call,
                "orchid_forward_to_data: a call within the program is in no crew, and cannot go on "
                "at another member");
}
std::int32_t orchid_spawn(orchid_call* call, const char*, const void*, std::size_t) {
  return refuse(call, no_children_here);
}
std::int32_t orchid_then(orchid_call* call, const char*, const void*, std::size_t) {
  return refuse(call, no_children_here);
}
std::uint32_t orchid_child_count(orchid_call*) { return 0; }
std::int32_t orchid_child(orchid_call* call, std::uint32_t, const void** output,
                          std::size_t* size) {
  *output = nullptr;
  *size = 0;
  return refuse(call, no_children_here);
}
std::int32_t orchid_deploy_module(orchid_call* call, const void*, std::size_t, char* digest) {
  if (digest != nullptr) *digest = 0;
  return refuse(call, no_modules_here);
}
std::int32_t orchid_specialise(orchid_call* call, const char*, const orchid_constant*, std::size_t,
                               char* digest) {
  if (digest != nullptr) *digest = 0;
  return refuse(call, no_modules_here);
}
std::uint32_t orchid_member(orchid_call*) { return 0; }
std::uint32_t orchid_member_count(orchid_call*) { return 0; }
std::uint64_t orchid_invocation_id(orchid_call*) { return 0; }
std::int32_t orchid_core(orchid_call*) { return -1; }
std::int32_t orchid_core_count(orchid_call*) { return 1; }

/// A native twin is called with an input only.
std::uint32_t orchid_data_count(orchid_call*) { return 0; }
std::int32_t orchid_data(orchid_call* call, std::uint32_t index, const void** bytes,
                         std::uint64_t* size) {
  *bytes = nullptr;
  *size = 0;
  return refuse(call, "data object " + std::to_string(index) +
                          " was asked for, and a call within the program has none");
}

/// Nor is there anybody who keeps data.
std::int32_t orchid_data_open(orchid_call* call, const char*, const void** bytes,
                              std::uint64_t* size) {
  *bytes = nullptr;
  *size = 0;
  return refuse(call, no_data_here);
}
std::int32_t orchid_data_create(orchid_call* call, std::uint64_t, void** room) {
  *room = nullptr;
  return refuse(call, no_data_here);
}
std::int32_t orchid_data_seal(orchid_call* call, void*, std::uint64_t, const char*, char* id) {
  if (id != nullptr) *id = 0;
  return refuse(call, no_data_here);
}

/// A program reaches leased memory by itself.
std::int32_t orchid_leased_open(orchid_call* call, const char*, std::uint32_t* memory,
                                std::uint64_t* size) {
  *memory = 0;
  *size = 0;
  return refuse(call, no_memory_here);
}
std::int32_t orchid_leased_put(orchid_call* call, std::uint32_t, std::uint64_t, const void*,
                               std::uint64_t) {
  return refuse(call, no_memory_here);
}
std::int32_t orchid_leased_get(orchid_call* call, std::uint32_t, std::uint64_t, void*,
                               std::uint64_t) {
  return refuse(call, no_memory_here);
}
std::int32_t orchid_leased_fetch_add(orchid_call* call, std::uint32_t, std::uint64_t, std::uint64_t,
                                     std::uint64_t* before) {
  *before = 0;
  return refuse(call, no_memory_here);
}
std::int32_t orchid_leased_compare_swap(orchid_call* call, std::uint32_t, std::uint64_t,
                                        std::uint64_t, std::uint64_t, std::uint64_t* before) {
  *before = 0;
  return refuse(call, no_memory_here);
}
std::int32_t orchid_leased_fence(orchid_call* call, std::uint32_t) {
  return refuse(call, no_memory_here);
}
std::int32_t orchid_leased_run(orchid_call* call, std::uint32_t, const orchid_leased_step*,
                               std::uint64_t) {
  return refuse(call, no_memory_here);
}
std::int32_t orchid_leased_start(orchid_call* call, std::uint32_t, const orchid_leased_step*,
                                 std::uint64_t, std::uint64_t* ticket) {
  *ticket = 0;
  return refuse(call, no_memory_here);
}
std::int32_t orchid_leased_wait(orchid_call* call, std::uint32_t, std::uint64_t) {
  return refuse(call, no_memory_here);
}

std::int32_t orchid_device_kind(orchid_call*) { return ORCHID_DEVICE_CORES; }

void* orchid_device_alloc(orchid_call* call, std::size_t size) {
  void* memory = call->device_memory.alloc(std::max<std::size_t>(size, 1));
  if (memory == nullptr) call->message = orchid::function_abi::no_device_memory(size);
  return memory;
}
void orchid_device_free(orchid_call* call, void* memory) { (void)call->device_memory.free(memory); }

std::int32_t orchid_device_write(orchid_call* call, void* device, const void* host,
                                 std::size_t size) {
  if (size == 0) return ORCHID_OK;
  if (!call->device_memory.holds(device, size))
    return refuse(call, orchid::function_abi::not_device_memory("orchid_device_write", size));
  std::memcpy(device, host, size);
  return ORCHID_OK;
}
std::int32_t orchid_device_read(orchid_call* call, void* host, const void* device,
                                std::size_t size) {
  if (size == 0) return ORCHID_OK;
  if (!call->device_memory.holds(device, size))
    return refuse(call, orchid::function_abi::not_device_memory("orchid_device_read", size));
  std::memcpy(host, device, size);
  return ORCHID_OK;
}

/// The device is the calling thread: a launch has ended when it returns.
std::int32_t orchid_launch(orchid_call* call, const orchid_kernel* kernel, const void* args,
                           std::size_t args_size, std::uint64_t items) {
  std::string fault = orchid::function_abi::find_launch_fault(kernel, args, args_size, items);
  if (!fault.empty()) return refuse(call, std::move(fault));
  if (items == 0) return ORCHID_OK;
  if (kernel->run == nullptr)
    return refuse(call, orchid::function_abi::no_image_for_cores(*kernel));
  kernel->run(args, 0, items);
  return ORCHID_OK;
}
std::int32_t orchid_device_wait(orchid_call*) { return ORCHID_OK; }

}  // extern "C"

namespace orchid {

Reply call_native(const EmbeddedFunction& function, std::span<const std::byte> input) {
  std::vector<std::byte> own(input.begin(), input.end());  // an entry may write into its input
  orchid_call call;
  const std::int32_t status = function.native(&call, own.data(), own.size());
  if (status != ORCHID_OK) {
    if (call.message.empty()) call.message = "it returned " + std::to_string(status);
    throw Error({.kind = status == ORCHID_BAD_ARGUMENTS ? ErrorKind::bad_request
                                                        : ErrorKind::function_error,
                 .message = std::move(call.message),
                 .function = function.name});
  }
  Reply reply;
  const std::span<const std::byte> output = std::as_bytes(std::span(call.output));
  reply.output.assign(output.begin(),
                      output.begin() + static_cast<std::ptrdiff_t>(call.output_size));
  return reply;
}

}  // namespace orchid
