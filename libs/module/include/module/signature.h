// module/signature.h: the types of a typed entry, such as "f64(span<f64>,span<f64>)"
// (docs/PROTOCOL.md §7).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid::module {

enum class Scalar : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64 };
[[nodiscard]] std::string_view to_string(Scalar scalar);
/// In bytes.
[[nodiscard]] std::size_t size_of(Scalar scalar);

struct Field {
  Scalar type;
  std::uint32_t offset;  // in bytes from the structure's start
};

/// A trivially copyable struct with scalar fields, in the order of their offsets.
struct Structure {
  std::uint32_t size = 0;
  std::uint32_t alignment = 1;
  std::vector<Field> fields;
};

/// data: an object with elements like those of a span. As an argument it is given to the call
/// beside its input; as a result the call has made it, and the output is its id.
enum class TypeKind : std::uint8_t { nothing, scalar, structure, span, string, data };

/// Before the state in what a step function gives: 1 if it is done, else 0, and the steps that it
/// has made, 8 bytes each.
inline constexpr std::size_t step_head_bytes = 16;

/// `scalar` counts for a scalar and for a span or data of scalars; `structure` for a structure and
/// for a span or data of structures.
struct Type {
  TypeKind kind = TypeKind::nothing;
  bool has_structure = false;
  Scalar scalar = Scalar::u8;
  Structure structure;
  /// Of a result only: it is the state that a step function has come to, and before it lies what
  /// `step_head_bytes` says.
  bool is_step = false;
  /// Of one scalar, structure, span element or character, in bytes.
  [[nodiscard]] std::size_t element_size() const;
};
[[nodiscard]] std::string to_string(const Type& type);

/// A value.
struct Signature {
  Type result;
  std::vector<Type> arguments;
  /// Those that are in the input: all but data.
  [[nodiscard]] std::vector<Type> input() const;
  /// How many objects a call is given.
  [[nodiscard]] std::size_t data_arguments() const { return arguments.size() - input().size(); }
};
[[nodiscard]] std::string to_string(const Signature& signature);
/// Errors: `bad_request`, naming the place.
[[nodiscard]] Result<Signature> parse_signature(std::string_view text);

}  // namespace orchid::module
