// http/byte_range.h: which part of a body a request wants (RFC 9110 §14). Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace orchid::gateway {

/// A value.
struct ByteRange {
  enum class Kind : std::uint8_t {
    whole,  // no range was asked for, or something that is not served: several, other units
    part,
    unsatisfiable,  // it begins behind the end
  };
  Kind kind = Kind::whole;
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

/// `range`: the field of that name; empty: there is none. `size`: of the whole body.
[[nodiscard]] ByteRange parse_range(std::string_view range, std::uint64_t size);
/// The field Content-Range of an answer with that part, or with none.
[[nodiscard]] std::string content_range(const ByteRange& range, std::uint64_t size);

}  // namespace orchid::gateway
