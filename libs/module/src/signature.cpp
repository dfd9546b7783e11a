#include "module/signature.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "foundation/numbers.h"

namespace orchid::module {
namespace {

constexpr std::array<std::pair<std::string_view, std::size_t>, 11> scalars{{{"bool", 1},
                                                                            {"i8", 1},
                                                                            {"u8", 1},
                                                                            {"i16", 2},
                                                                            {"u16", 2},
                                                                            {"i32", 4},
                                                                            {"u32", 4},
                                                                            {"i64", 8},
                                                                            {"u64", 8},
                                                                            {"f32", 4},
                                                                            {"f64", 8}}};
constexpr std::size_t longest_signature = 16 * 1024;
constexpr std::uint32_t largest_structure = 1 << 20;
constexpr std::uint32_t strictest_alignment = 8;  // items lie at multiples of 8

/// Reads a signature from left to right; the first failure sticks to the place where it arose.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Signature> parse() {
    if (text_.size() > longest_signature)
      return fail(ErrorCode::bad_request, "the signature is too long");
    Signature signature;
    if (auto result = parse_type(true); result) {
      signature.result = std::move(*result);
    } else {
      return fail(std::move(result.error()));
    }
    if (!take("(")) return expected("'('");
    if (!take(")")) {
      do {
        auto argument = parse_type(false);
        if (!argument) return fail(std::move(argument.error()));
        signature.arguments.push_back(std::move(*argument));
      } while (take(","));
      if (!take(")")) return expected("',' or ')'");
    }
    if (at_ != text_.size()) return expected("the end");
    return signature;
  }

 private:
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  std::unexpected<Failure> expected(std::string_view what) const {
    return fail(ErrorCode::bad_request,
                fmt::format("the signature '{}' is wrong at character {}: {} should be there",
                            text_.substr(0, 200), at_ + 1, what));
  }

  std::optional<std::uint32_t> take_count() {
    std::string_view rest = text_.substr(at_);
    const auto count = take_number<std::uint32_t>(rest);
    at_ = text_.size() - rest.size();
    return count;
  }

  std::optional<Scalar> take_scalar() {
    const std::size_t end = text_.find_first_of("(),<>@", at_);
    const std::string_view word =
        text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      if (scalars[i].first != word) continue;
      at_ += word.size();
      return static_cast<Scalar>(i);
    }
    return std::nullopt;
  }

  Result<Type> parse_type(bool is_result) {
    if (is_result && take("void")) return Type{};
    if (is_result && take("step<")) return parse_step();
    if (take("string")) return Type{.kind = TypeKind::string};
    const bool is_data = take("data<");
    if (!is_data && !take("span<")) return parse_element(TypeKind::scalar, TypeKind::structure);
    const TypeKind kind = is_data ? TypeKind::data : TypeKind::span;
    auto type = parse_element(kind, kind);
    if (type && !take(">")) return expected("'>'");
    return type;
  }

  Result<Type> parse_step() {
    auto state = parse_type(false);
    if (!state) return state;
    if (!take(">")) return expected("'>'");
    state->is_step = true;
    return state;
  }

  Result<Type> parse_element(TypeKind if_scalar, TypeKind if_structure) {
    if (const auto scalar = take_scalar()) return Type{.kind = if_scalar, .scalar = *scalar};
    if (!take("struct<")) return expected("a type");
    auto structure = parse_structure();
    if (!structure) return fail(std::move(structure.error()));
    return Type{.kind = if_structure, .has_structure = true, .structure = std::move(*structure)};
  }

  Result<Structure> parse_structure() {
    Structure structure;
    const auto size = take_count();
    if (!size || *size == 0 || *size > largest_structure)
      return expected("the structure's size in bytes");
    if (!take(",")) return expected("','");
    const auto alignment = take_count();
    if (!alignment || !std::has_single_bit(*alignment) || *alignment > strictest_alignment ||
        *size % *alignment != 0)
      return expected("an alignment of 1, 2, 4 or 8 that divides the size");
    if (!take(":")) return expected("':'");
    structure.size = *size;
    structure.alignment = *alignment;
    std::uint32_t end = 0;
    do {
      const auto type = take_scalar();
      if (!type) return expected("a scalar");
      if (!take("@")) return expected("'@'");
      const auto offset = take_count();
      if (!offset || *offset < end || *offset > *size || *size - *offset < size_of(*type))
        return expected("an offset behind the field before it and inside the structure");
      structure.fields.push_back({*type, *offset});
      end = *offset + static_cast<std::uint32_t>(size_of(*type));
    } while (take(","));
    if (!take(">")) return expected("',' or '>'");
    return structure;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view to_string(Scalar scalar) {
  return scalars[static_cast<std::size_t>(scalar)].first;
}
std::size_t size_of(Scalar scalar) { return scalars[static_cast<std::size_t>(scalar)].second; }

std::size_t Type::element_size() const {
  if (kind == TypeKind::string) return 1;
  return has_structure ? structure.size : size_of(scalar);
}

std::string to_string(const Type& type) {
  if (type.is_step) {
    Type state = type;
    state.is_step = false;
    return "step<" + to_string(state) + ">";
  }
  if (type.kind == TypeKind::nothing) return "void";
  if (type.kind == TypeKind::string) return "string";
  std::string element(to_string(type.scalar));
  if (type.has_structure) {
    element = fmt::format("struct<{},{}:", type.structure.size, type.structure.alignment);
    for (const Field& field : type.structure.fields)
      element += fmt::format("{}{}@{}", element.ends_with(':') ? "" : ",", to_string(field.type),
                             field.offset);
    element += '>';
  }
  if (type.kind == TypeKind::data) return "data<" + element + ">";
  return type.kind == TypeKind::span ? "span<" + element + ">" : element;
}

std::vector<Type> Signature::input() const {
  std::vector<Type> types;
  for (const Type& type : arguments)
    if (type.kind != TypeKind::data) types.push_back(type);
  return types;
}

std::string to_string(const Signature& signature) {
  std::string text = to_string(signature.result) + "(";
  for (const Type& argument : signature.arguments)
    text += (text.ends_with('(') ? "" : ",") + to_string(argument);
  return text + ")";
}

Result<Signature> parse_signature(std::string_view text) { return Parser(text).parse(); }

}  // namespace orchid::module
