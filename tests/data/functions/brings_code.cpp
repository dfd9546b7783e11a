// Entries that go on in whatever function their input names: u32 of the member, the name with a
// zero behind it, and the bytes that are handed on.
#include <cstdint>
#include <cstring>
#include <span>

#include "orchid/function.hpp"

namespace {

struct Wish {
  std::uint32_t member = 0;
  const char* function = nullptr;
  std::span<const std::byte> input;
};

bool read(const void* input, std::size_t size, Wish& wish) {
  if (size <= sizeof(wish.member)) return false;
  const auto* bytes = static_cast<const std::byte*>(input);
  std::memcpy(&wish.member, bytes, sizeof(wish.member));
  wish.function = reinterpret_cast<const char*>(bytes + sizeof(wish.member));
  const auto* end =
      static_cast<const char*>(std::memchr(wish.function, 0, size - sizeof(wish.member)));
  if (end == nullptr) return false;
  const std::size_t head = sizeof(wish.member) + static_cast<std::size_t>(end - wish.function) + 1;
  wish.input = {bytes + head, size - head};
  return true;
}

std::int32_t give(orchid_call* call, std::span<const std::byte> bytes) {
  void* output = orchid_output(call, bytes.size());
  if (output == nullptr) return ORCHID_ERROR;
  if (!bytes.empty()) std::memcpy(output, bytes.data(), bytes.size());
  return ORCHID_OK;
}

}  // namespace

ORCHID_ENTRY(by_forward) {
  orchid::Call running(call);
  Wish wish;
  if (!read(input, input_size, wish)) return ORCHID_BAD_ARGUMENTS;
  return running.forward(wish.member, wish.input, wish.function) ? ORCHID_OK : ORCHID_ERROR;
}

ORCHID_ENTRY(by_invoke) {
  orchid::Call running(call);
  Wish wish;
  if (!read(input, input_size, wish)) return ORCHID_BAD_ARGUMENTS;
  const auto output = running.invoke(wish.function, wish.input);
  return output ? give(call, *output) : ORCHID_ERROR;
}

ORCHID_ENTRY(by_spawn) {
  orchid::Call running(call);
  Wish wish;
  if (!read(input, input_size, wish)) return ORCHID_BAD_ARGUMENTS;
  for (int i = 0; i < 8; ++i) (void)running.spawn(wish.function, wish.input);
  return running.then("last_child", {}) ? ORCHID_OK : ORCHID_ERROR;
}
ORCHID_ENTRY(last_child) {
  orchid::Call running(call);
  if (running.child_count() != 8) return ORCHID_ERROR;
  return give(call, running.child(7));
}
