#include "fake_host.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

std::int32_t refuse(orchid_call* call, std::string_view why) {
  call->error = why;
  return ORCHID_ERROR;
}

/// Before what is given out: how long it is.
constexpr std::size_t room_for_size = 256;

}  // namespace

extern "C" {
void* orchid_output(orchid_call* call, size_t size) {
  call->output.resize(size);
  return call->output.data();
}
void orchid_error(orchid_call* call, const char* message, size_t size) {
  call->error.assign(message, size);
}
void* orchid_append(orchid_call* call, size_t size) {
  call->output.resize(call->output.size() + size);
  return call->output.data() + call->output.size() - size;
}
int32_t orchid_exchange(orchid_call* call, const void** input, size_t* size) {
  *input = nullptr;
  *size = 0;
  if (call->chunks.empty()) return ORCHID_END_OF_INPUT;
  *input = call->chunks.front().data();
  *size = call->chunks.front().size();
  call->chunks = call->chunks.subspan(1);
  return ORCHID_CHUNK;
}
void orchid_progress(orchid_call*, double) {}

void* orchid_device_alloc(orchid_call* call, size_t size) {
  if (size > call->device.memory - call->device_bytes) {
    (void)refuse(call, "no device memory");
    return nullptr;
  }
  const std::size_t whole = (room_for_size + size + room_for_size - 1) & ~(room_for_size - 1);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(room_for_size, whole));
  std::memset(memory, 0xa5, whole);
  std::memcpy(memory, &size, sizeof size);
  call->device_bytes += size;
  return memory + room_for_size;
}
void orchid_device_free(orchid_call* call, void* memory) {
  if (memory == nullptr) return;
  auto* start = static_cast<std::byte*>(memory) - room_for_size;
  std::size_t size = 0;
  std::memcpy(&size, start, sizeof size);
  call->device_bytes -= size;
  std::free(start);
}
int32_t orchid_device_write(orchid_call*, void* device, const void* host, size_t size) {
  if (size > 0) std::memcpy(device, host, size);
  return ORCHID_OK;
}
int32_t orchid_device_read(orchid_call*, void* host, const void* device, size_t size) {
  if (size > 0) std::memcpy(host, device, size);
  return ORCHID_OK;
}
int32_t orchid_launch(orchid_call* call, const orchid_kernel* kernel, const void* args,
                      size_t args_size, uint64_t items) {
  if (args_size != kernel->args_size) return refuse(call, "the arguments have another size");
  if (call->launches == call->device.launches) return refuse(call, "the device is gone");
  ++call->launches;
  if (items == 0) return ORCHID_OK;
  const std::uint64_t unit = std::max(kernel->group_size, 1U);
  const std::uint64_t grain = call->device.grain == 0 ? items : call->device.grain * unit;
  const std::uint64_t pieces = (items + grain - 1) / grain;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t piece = call->device.backwards ? pieces - 1 - i : i;
    kernel->run(args, piece * grain, std::min(items, (piece + 1) * grain));
  }
  return ORCHID_OK;
}
int32_t orchid_device_wait(orchid_call*) { return ORCHID_OK; }
}

CallAnswer call_entry(EntryPoint* entry, std::string_view input,
                      std::span<const std::string> chunks, const FakeDevice& device) {
  orchid_call call{.chunks = chunks, .output = {}, .error = {}, .device = device};
  // Inputs are aligned to at least 8 bytes.
  std::vector<std::uint64_t> aligned(input.size() / sizeof(std::uint64_t) + 1);
  std::memcpy(aligned.data(), input.data(), input.size());
  CallAnswer answer{.status = entry(&call, aligned.data(), input.size())};
  answer.output.assign(reinterpret_cast<const char*>(call.output.data()), call.output.size());
  answer.error = call.error;
  answer.device_bytes = call.device_bytes;
  answer.launches = call.launches;
  return answer;
}
