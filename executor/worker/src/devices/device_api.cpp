// The functions of orchid/kernel.h, as the worker offers them to user code.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "devices/device.h"
#include "function_abi/core_memory.h"
#include "function_abi/launch_check.h"
#include "orchid/kernel.h"
#include "user_code/call_context.h"

namespace {

using orchid::executor::DeviceEnd;

std::int32_t refuse(orchid_call* call, std::string_view why) {
  call->set_message(why);
  return ORCHID_ERROR;
}

std::int32_t status_of(orchid_call* call, const orchid::Result<DeviceEnd>& end) {
  if (!end) return refuse(call, end.error().message);
  if (*end == DeviceEnd::stopped) return ORCHID_STOP;
  return ORCHID_OK;
}

}  // namespace

extern "C" {

std::int32_t orchid_device_kind(orchid_call* call) { return call->device.kind(); }

void* orchid_device_alloc(orchid_call* call, std::size_t size) {
  void* memory = call->device.alloc(*call, std::max<std::size_t>(size, 1));
  if (memory == nullptr && orchid_should_stop(call) == 0) {  // else there may be enough
    call->page.refused.fetch_or(orchid::executor::refused_device, std::memory_order_relaxed);
    call->set_message(orchid::function_abi::no_device_memory(size));
  }
  return memory;
}

void orchid_device_free(orchid_call* call, void* memory) {
  if (memory == nullptr || call->device.free(*call, memory)) return;
  std::array<char, 128> text;
  const int size = std::snprintf(
      text.data(), text.size(),
      "orchid_device_free: %p is not device memory of this call, or was freed\n", memory);
  call->log.append({text.data(), static_cast<std::size_t>(size)});
}

std::int32_t orchid_device_write(orchid_call* call, void* device, const void* host,
                                 std::size_t size) {
  if (size == 0) return ORCHID_OK;
  if (host == nullptr) return refuse(call, "orchid_device_write was given no bytes to copy from");
  return status_of(call,
                   call->device.write(*call, device, {static_cast<const std::byte*>(host), size}));
}

std::int32_t orchid_device_read(orchid_call* call, void* host, const void* device,
                                std::size_t size) {
  if (size == 0) return ORCHID_OK;
  if (host == nullptr) return refuse(call, "orchid_device_read was given no room to copy to");
  return status_of(call, call->device.read(*call, {static_cast<std::byte*>(host), size}, device));
}

std::int32_t orchid_launch(orchid_call* call, const orchid_kernel* kernel, const void* args,
                           std::size_t args_size, std::uint64_t items) {
  const std::string fault = orchid::function_abi::find_launch_fault(kernel, args, args_size, items);
  if (!fault.empty()) return refuse(call, fault);
  if (items == 0) return ORCHID_OK;
  return status_of(
      call, call->device.launch(*call, {.kernel = *kernel,
                                        .args = {static_cast<const std::byte*>(args), args_size},
                                        .items = items}));
}

std::int32_t orchid_device_wait(orchid_call* call) {
  return status_of(call, call->device.wait(*call));
}

}  // extern "C"
