// module/typed_values.h: arguments and results of typed entries: between JSON or .npy, which people
// write, and the bytes that travel (docs/PROTOCOL.md §7).
//
// In JSON a scalar is a number or true/false, a span an array, a string a string, a structure the
// array of its fields in the order of their offsets. Numbers that JSON lacks are the strings "NaN",
// "Infinity" and "-Infinity". Data objects are no arguments here: they are named beside the input.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/result.h"
#include "module/npy.h"
#include "module/signature.h"

namespace orchid::module {

struct JsonText {
  std::string text;
};
/// One argument as the user gave it.
using Argument = std::variant<JsonText, NpyArray>;

/// All arguments as one JSON array: "[2.5,[1,2,3]]". Errors: `bad_request`: "argument 2 should be
/// span<f64>, got a string".
[[nodiscard]] Result<std::vector<std::byte>> encode_arguments(const Signature& signature,
                                                              std::string_view json);
/// Each argument by itself, JSON or an array. An array of any shape fits a span of its element
/// type, a single number a scalar. Errors: `bad_request`.
[[nodiscard]] Result<std::vector<std::byte>> encode_arguments(const Signature& signature,
                                                              std::span<const Argument> arguments);

/// The result as JSON text; "null" for void. Text that is not UTF-8 is shown with replacement
/// characters. Errors: `bad_request`, when the bytes do not fit the signature.
[[nodiscard]] Result<std::string> decode_result(const Signature& signature,
                                                std::span<const std::byte> bytes);

}  // namespace orchid::module
