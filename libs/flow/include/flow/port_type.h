// flow/port_type.h: the type of a port: one item of a signature, or the bytes of an untyped entry.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "module/signature.h"

namespace orchid::flow {

/// What a flow calls an entry without a signature: it takes bytes and gives bytes.
inline constexpr std::string_view untyped = "bytes";

/// A value. Nothing: the type `void`.
struct PortType {
  bool is_bytes = false;
  module::Type type;
  [[nodiscard]] bool is_nothing() const {
    return !is_bytes && type.kind == module::TypeKind::nothing;
  }
  /// A scalar or a structure: what a span has for elements.
  [[nodiscard]] bool is_element() const {
    return !is_bytes &&
           (type.kind == module::TypeKind::scalar || type.kind == module::TypeKind::structure);
  }
  [[nodiscard]] bool is_text() const { return is_bytes || type.kind == module::TypeKind::string; }
  /// A data object: the value is its id, 16 bytes, and the object stays where it is.
  [[nodiscard]] bool is_data() const { return !is_bytes && type.kind == module::TypeKind::data; }
  /// What a step function gives: a state, with a head before it. Of no port.
  [[nodiscard]] bool is_step() const { return !is_bytes && type.is_step; }
  [[nodiscard]] bool is_span() const { return !is_bytes && type.kind == module::TypeKind::span; }
  friend bool operator==(const PortType& a, const PortType& b) {
    return a.is_bytes == b.is_bytes && module::to_string(a.type) == module::to_string(b.type);
  }
};
[[nodiscard]] std::string to_string(const PortType& type);

/// "span<f64>" or "bytes". Errors: `bad_request`.
[[nodiscard]] Result<PortType> parse_port_type(std::string_view text);

/// Of a span, the type of its elements; of an element, that of a span of such.
[[nodiscard]] PortType element_of(const PortType& span);
[[nodiscard]] PortType span_of(const PortType& element);

/// Of what a step function gives, the type of the state in it.
[[nodiscard]] PortType state_of(const PortType& step);

/// What many results of one type are together: elements become a span, spans, strings and bytes
/// are joined to a longer one, and nothing stays nothing.
[[nodiscard]] PortType gathered(const PortType& result);

/// What a function takes and gives.
struct FunctionType {
  std::vector<PortType> arguments;
  PortType result;
  std::string signature;  // empty: untyped
};
/// A signature, or "bytes". Errors: `bad_request`.
[[nodiscard]] Result<FunctionType> parse_function_type(std::string_view text);

}  // namespace orchid::flow
