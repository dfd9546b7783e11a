// Entries that have other entries run in their own place.
#include <cfenv>
#include <csetjmp>
#include <cstring>
#include <stdexcept>
#include <string>

#include "orchid/function.h"

namespace {

std::int32_t give(orchid_call* call, const void* bytes, std::size_t size) {
  void* output = orchid_output(call, size);
  if (output == nullptr) return ORCHID_ERROR;
  if (size > 0) std::memcpy(output, bytes, size);
  return ORCHID_OK;
}

/// What comes before the first zero, as a name; the rest is for whoever has that name.
struct Wish {
  std::string function;
  const char* rest;
  std::size_t size;
};
Wish wish_of(const void* input, std::size_t size) {
  const auto* text = static_cast<const char*>(input);
  const std::size_t length = strnlen(text, size);
  const std::size_t used = length < size ? length + 1 : size;
  return {std::string(text, length), text + used, size - used};
}

}  // namespace

/// Input: a function, a zero, its input. Output: what that has answered.
ORCHID_ENTRY(ask_inline) {
  const Wish wish = wish_of(input, input_size);
  const void* output = nullptr;
  std::size_t size = 0;
  const std::int32_t status =
      orchid_invoke_inline(call, wish.function.c_str(), wish.rest, wish.size, &output, &size);
  return status == ORCHID_OK ? give(call, output, size) : status;
}

/// The same, and is content whatever that does. Output: its status.
ORCHID_ENTRY(tolerate) {
  const Wish wish = wish_of(input, input_size);
  const std::int32_t status =
      orchid_invoke_inline(call, wish.function.c_str(), wish.rest, wish.size, nullptr, nullptr);
  return give(call, &status, sizeof(status));
}

ORCHID_ENTRY(twice) {
  std::uint64_t number = 0;
  if (input_size < sizeof(number)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&number, input, sizeof(number));
  number *= 2;
  // As long as the input: small outputs and large ones go other ways.
  char* output = static_cast<char*>(orchid_append(call, sizeof(number)));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &number, sizeof(number));
  output = static_cast<char*>(orchid_append(call, input_size - sizeof(number)));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, static_cast<const char*>(input) + sizeof(number),
              input_size - sizeof(number));
  return ORCHID_OK;
}

/// Each result is the input of the next one.
ORCHID_ENTRY(sixteen_times) {
  const void* bytes = input;
  std::size_t size = input_size;
  for (int i = 0; i < 4; ++i)
    if (const std::int32_t status = orchid_invoke_inline(call, "twice", bytes, size, &bytes, &size);
        status != ORCHID_OK)
      return status;
  return give(call, bytes, size);
}

/// Invokes itself for as long as it may. Output: how deep that was.
ORCHID_ENTRY(deeper) {
  const void* output = nullptr;
  std::size_t size = 0;
  std::uint32_t depth = 0;
  if (orchid_invoke_inline(call, "deeper", input, input_size, &output, &size) == ORCHID_OK)
    std::memcpy(&depth, output, sizeof(depth));
  ++depth;
  return give(call, &depth, sizeof(depth));
}
/// The same, and fails when it may not any more.
ORCHID_ENTRY(too_deep) {
  return orchid_invoke_inline(call, "too_deep", input, input_size, nullptr, nullptr);
}

ORCHID_ENTRY(throws) { throw std::out_of_range("it is too far"); }
ORCHID_ENTRY(says_seven) { return 7; }
ORCHID_ENTRY(says_why) {
  orchid_error(call, "it has its reasons", 18);
  return ORCHID_ERROR;
}
ORCHID_ENTRY(answers_too_much) {
  return orchid_output(call, (std::size_t{64} << 10U) + 1) == nullptr ? ORCHID_ERROR : ORCHID_OK;
}
ORCHID_ENTRY(crashes) {
  *reinterpret_cast<volatile int*>(8) = 1;
  return ORCHID_OK;
}
ORCHID_ENTRY(goes_on) { return orchid_forward(call, 1, "twice", input, input_size); }
ORCHID_ENTRY(rounds_up) {
  std::fesetround(FE_UPWARD);
  return ORCHID_OK;
}

namespace {
std::jmp_buf way_back;  // NOLINT: set before each jump
}

/// Writes, and leaves by a jump over the worker that has called it.
ORCHID_ENTRY(writes_and_jumps) {
  (void)give(call, "left behind", 11);
  std::longjmp(way_back, 1);
}
ORCHID_ENTRY(writes_nothing) { return ORCHID_OK; }
/// Output: how much the other one has answered, which is nothing.
ORCHID_ENTRY(forgets_the_jump) {
  const void* output = nullptr;
  std::size_t size = 1;
  if (setjmp(way_back) == 0)
    return orchid_invoke_inline(call, "writes_and_jumps", nullptr, 0, &output, &size);
  if (orchid_invoke_inline(call, "writes_nothing", nullptr, 0, &output, &size) != ORCHID_OK)
    return ORCHID_ERROR;
  const std::uint64_t left = size;
  return give(call, &left, sizeof(left));
}
/// Opens leased memory under a name that no lease has. Output: the status.
ORCHID_ENTRY(opens_what_is_leased) {
  std::uint32_t memory = 0;
  std::uint64_t size = 0;
  const std::int32_t status = orchid_leased_open(call, "no lease", &memory, &size);
  return give(call, &status, sizeof(status));
}

/// Output: how it rounds after the other one has, and what is left of the time.
ORCHID_ENTRY(stays_as_it_was) {
  if (orchid_invoke_inline(call, "rounds_up", input, input_size, nullptr, nullptr) != ORCHID_OK)
    return ORCHID_ERROR;
  const std::int32_t same = std::fegetround() == FE_TONEAREST ? 1 : 0;
  return give(call, &same, sizeof(same));
}
