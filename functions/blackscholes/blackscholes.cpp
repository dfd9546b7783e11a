// functions/blackscholes: prices of many European options. Typed by hand rather than by the macro
// of orchid/function.hpp, so that options are read and prices written where they lie, without a
// copy.
#include <cstring>

#include "kernel.h"
#include "orchid/function.h"

using blackscholes::Option;

// A span: its element count in 8 bytes, then the elements (docs/PROTOCOL.md §7).
ORCHID_EXTERN_C ORCHID_EXPORT const char orchid_signature_blackscholes[] =
    "span<f64>(span<struct<48,8:f64@0,f64@8,f64@16,f64@24,f64@32,i32@40,i32@44>>)";

ORCHID_ENTRY(blackscholes) {
  std::uint64_t count = 0;
  const auto* bytes = static_cast<const std::byte*>(input);
  if (input_size >= sizeof count) std::memcpy(&count, bytes, sizeof count);
  if (input_size < sizeof count || (input_size - sizeof count) / sizeof(Option) != count ||
      (input_size - sizeof count) % sizeof(Option) != 0) {
    static const char message[] =
        "the input is no span of options: 8 bytes with their number, then 48 bytes for each";
    orchid_error(call, message, sizeof message - 1);
    return ORCHID_BAD_ARGUMENTS;
  }
  auto* output =
      static_cast<std::byte*>(orchid_output(call, sizeof count + count * sizeof(double)));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &count, sizeof count);
  blackscholes::price_all(reinterpret_cast<const Option*>(bytes + sizeof count), count,
                          reinterpret_cast<double*>(output + sizeof count));
  return ORCHID_OK;
}
