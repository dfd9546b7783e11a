// What goes well on a GPU, and what can go wrong there; the fake driver is told what.
#include "kernels.h"

#if ORCHID_HOST
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

int32_t answer(orchid_call* call, const std::string& text) {
  void* room = orchid_output(call, text.size());
  if (room == nullptr) return ORCHID_ERROR;
  std::memcpy(room, text.data(), text.size());
  return ORCHID_OK;
}

std::uint64_t number_in(const void* input, std::size_t size) {
  return std::strtoull(std::string(static_cast<const char*>(input), size).c_str(), nullptr, 10);
}

}  // namespace

/// Input: how many items. Answers where they ran, and their sum.
ORCHID_ENTRY(mixes) {
  const std::uint64_t items = number_in(input, input_size);
  const std::size_t bytes = items * sizeof(std::uint64_t);
  auto* out = static_cast<std::uint64_t*>(orchid_device_alloc(call, bytes));
  if (out == nullptr) return ORCHID_ERROR;
  const MixArgs args{42, out};
  if (const auto end = orchid_launch(call, &mix, &args, sizeof args, items); end != ORCHID_OK)
    return end;
  if (const auto end = orchid_device_wait(call); end != ORCHID_OK) return end;
  std::vector<std::uint64_t> words(items);
  if (const auto end = orchid_device_read(call, words.data(), out, bytes); end != ORCHID_OK)
    return end;
  std::uint64_t sum = 0;
  for (const std::uint64_t word : words) sum += word;
  const bool on_gpu = orchid_device_kind(call) == ORCHID_DEVICE_GPU;
  return answer(call, (on_gpu ? "gpu " : "cores ") + std::to_string(sum));
}

/// Answers the input with the lowest bits turned. Both lie in the lane's slabs when they are large.
ORCHID_ENTRY(flips) {
  auto* bytes = static_cast<unsigned char*>(orchid_device_alloc(call, input_size));
  if (bytes == nullptr) return ORCHID_ERROR;
  const FlipArgs args{bytes};
  void* room = orchid_output(call, input_size);
  if (room == nullptr) return ORCHID_ERROR;
  if (const auto end = orchid_device_write(call, bytes, input, input_size); end != ORCHID_OK)
    return end;
  for (int times = 0; times < 3; ++times)
    if (const auto end = orchid_launch(call, &flip, &args, sizeof args, input_size);
        end != ORCHID_OK)
      return end;
  return orchid_device_read(call, room, bytes, input_size);
}

/// Input: how many bytes. They go to the device and back from memory of the function's own.
ORCHID_ENTRY(carries) {
  std::vector<unsigned char> bytes(number_in(input, input_size));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = (unsigned char)(i * 7 + i / 4096);
  std::vector<unsigned char> back(bytes.size());
  void* device = orchid_device_alloc(call, bytes.size());
  if (device == nullptr) return ORCHID_ERROR;
  if (const auto end = orchid_device_write(call, device, bytes.data(), bytes.size());
      end != ORCHID_OK)
    return end;
  if (const auto end = orchid_device_read(call, back.data(), device, back.size()); end != ORCHID_OK)
    return end;
  orchid_device_free(call, device);
  return answer(call, bytes == back ? "the same" : "something else");
}

/// Its kernel writes far behind what it has.
ORCHID_ENTRY(strays) {
  (void)input;
  (void)input_size;
  const StrayArgs args{static_cast<std::uint64_t*>(orchid_device_alloc(call, 64))};
  if (args.out == nullptr) return ORCHID_ERROR;
  if (const auto end = orchid_launch(call, &stray, &args, sizeof args, 8); end != ORCHID_OK)
    return end;
  return orchid_device_wait(call);
}

/// Its kernel never ends.
ORCHID_ENTRY(waits) {
  (void)input;
  (void)input_size;
  const std::uint64_t nothing[2] = {};
  const WaitArgs args{static_cast<std::uint64_t*>(orchid_device_alloc(call, sizeof nothing))};
  if (args.word == nullptr) return ORCHID_ERROR;
  void* word = const_cast<std::uint64_t*>(args.word);
  if (orchid_device_write(call, word, nothing, sizeof nothing) != ORCHID_OK) return ORCHID_ERROR;
  if (const auto end = orchid_launch(call, &wait_for_ever, &args, sizeof args, 1); end != ORCHID_OK)
    return end;
  return orchid_device_wait(call);
}

/// Input: how many launches, more than stand in line at a time.
ORCHID_ENTRY(queues) {
  const std::uint64_t launches = number_in(input, input_size);
  auto* bytes = static_cast<unsigned char*>(orchid_device_alloc(call, 64));
  if (bytes == nullptr) return ORCHID_ERROR;
  unsigned char first[64] = {};
  if (orchid_device_write(call, bytes, first, sizeof first) != ORCHID_OK) return ORCHID_ERROR;
  const FlipArgs args{bytes};
  for (std::uint64_t i = 0; i < launches; ++i)
    if (const auto end = orchid_launch(call, &flip, &args, sizeof args, sizeof first);
        end != ORCHID_OK)
      return end;
  if (const auto end = orchid_device_read(call, first, bytes, sizeof first); end != ORCHID_OK)
    return end;
  return answer(call, std::to_string(first[0]) + " " + std::to_string(first[63]));
}
#endif
