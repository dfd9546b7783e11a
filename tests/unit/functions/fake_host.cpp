#include "fake_host.h"

#include <cstring>

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
}

CallAnswer call_entry(EntryPoint* entry, std::string_view input,
                      std::span<const std::string> chunks) {
  orchid_call call{.chunks = chunks};
  // Inputs are aligned to at least 8 bytes.
  std::vector<std::uint64_t> aligned(input.size() / sizeof(std::uint64_t) + 1);
  std::memcpy(aligned.data(), input.data(), input.size());
  CallAnswer answer{.status = entry(&call, aligned.data(), input.size())};
  answer.output.assign(reinterpret_cast<const char*>(call.output.data()), call.output.size());
  answer.error = call.error;
  return answer;
}
