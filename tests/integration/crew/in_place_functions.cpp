// Functions whose input is built by their source's part, in the program that calls them.
#include <cstdint>
#include <cstring>
#include <span>

#include "in_place.h"
#include "orchid/function.hpp"

namespace {

std::int32_t give(orchid_call* call, std::uint64_t value) {
  void* output = orchid_output(call, sizeof(value));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &value, sizeof(value));
  return ORCHID_OK;
}

std::uint64_t sum_of(const void* input, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof(sum) <= size; at += sizeof(sum)) {
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(input) + at, sizeof(value));
    sum += value;
  }
  return sum;
}

}  // namespace

// Its input are `count` multiples of `factor`, which the program never has in one place.
ORCHID_SOURCE_SIZE(sum_multiples) {
  in_place::Multiples asked{};
  if (source_size != sizeof(asked)) return 0;
  std::memcpy(&asked, source, sizeof(asked));
  return asked.count * sizeof(std::uint64_t);
}
ORCHID_SOURCE_FILL(sum_multiples) {
  in_place::Multiples asked{};
  if (source_size != sizeof(asked)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&asked, source, sizeof(asked));
  for (std::uint64_t i = 0; i < asked.count; ++i) {
    const std::uint64_t value = i * asked.factor;
    std::memcpy(static_cast<std::byte*>(input) + i * sizeof(value), &value, sizeof(value));
  }
  *size = asked.count * sizeof(std::uint64_t);
  return ORCHID_OK;
}
ORCHID_ENTRY(sum_multiples) { return give(call, sum_of(input, input_size)); }

// It has no part of the source's.
ORCHID_ENTRY(sum_plain) { return give(call, sum_of(input, input_size)); }

ORCHID_SOURCE_FILL(too_much) {
  *size += 1;
  return ORCHID_OK;
}
ORCHID_ENTRY(too_much) { return ORCHID_OK; }

ORCHID_ENTRY(stay) {
  while (orchid_should_stop(call) == 0) {
  }
  return ORCHID_ERROR;
}
