#include "flow/port_type.h"

#include <utility>

namespace orchid::flow {

using module::Type;
using module::TypeKind;

std::string to_string(const PortType& type) {
  return type.is_bytes ? std::string(untyped) : module::to_string(type.type);
}

Result<PortType> parse_port_type(std::string_view text) {
  if (text == untyped) return PortType{.is_bytes = true, .type = {}};
  auto signature = module::parse_signature("void(" + std::string(text) + ")");
  if (!signature || signature->arguments.size() != 1)
    return fail(ErrorCode::bad_request,
                "'" + std::string(text) +
                    "' is no type; such are bytes, string, f64, span<f64>, or a struct as `orchid "
                    "describe FUNCTION` prints it");
  return PortType{.is_bytes = false, .type = std::move(signature->arguments[0])};
}

PortType element_of(const PortType& span) {
  PortType element = span;
  element.type.kind = span.type.has_structure ? TypeKind::structure : TypeKind::scalar;
  return element;
}

PortType span_of(const PortType& element) {
  PortType span = element;
  span.type.kind = TypeKind::span;
  return span;
}

PortType state_of(const PortType& step) {
  PortType state = step;
  state.type.is_step = false;
  return state;
}

PortType gathered(const PortType& result) { return result.is_element() ? span_of(result) : result; }

Result<FunctionType> parse_function_type(std::string_view text) {
  const PortType bytes{.is_bytes = true, .type = {}};
  if (text.empty() || text == untyped)
    return FunctionType{.arguments = {bytes}, .result = bytes, .signature = {}};
  auto signature = module::parse_signature(text);
  if (!signature) return fail(std::move(signature.error()));
  FunctionType type{.arguments = {},
                    .result = {.is_bytes = false, .type = std::move(signature->result)},
                    .signature = std::string(text)};
  for (Type& argument : signature->arguments)
    type.arguments.push_back({.is_bytes = false, .type = std::move(argument)});
  return type;
}

}  // namespace orchid::flow
