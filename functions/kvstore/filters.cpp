// Filters for kvstore, as somebody who asks would write them: a module of their own, which all
// members of the crew have loaded beside the store's.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "orchid/function.hpp"
#include "record.h"

namespace {

std::int32_t say(orchid_call* call, bool passes) {
  void* output = orchid_output(call, 1);
  if (output == nullptr) return ORCHID_ERROR;
  *static_cast<std::uint8_t*>(output) = passes ? 1 : 0;
  return ORCHID_OK;
}

}  // namespace

/// Whether the record's value is a whole number.
ORCHID_ENTRY(is_whole) {
  kvstore::Record record{};
  if (input_size != sizeof(record)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&record, input, sizeof(record));
  return say(call, record.value == std::floor(record.value));
}

/// Whether the record's key is odd.
ORCHID_ENTRY(is_odd) {
  kvstore::Record record{};
  if (input_size != sizeof(record)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&record, input, sizeof(record));
  return say(call, record.key % 2 == 1);
}
