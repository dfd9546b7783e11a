#include "module/typed_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "byte_reader.h"
#include "foundation/files.h"
#include "foundation/numbers.h"
#include "protocol/data_id.h"

namespace orchid::module {
namespace {

using Json = nlohmann::json;
constexpr std::size_t item_alignment = 8;

/// What a user sees of a wrong value: its kind, and the value itself when it is short.
std::string describe(const Json& value) {
  if (value.is_string()) return "a string";
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  if (value.is_object()) return "an object";
  return value.dump();
}

void append_bytes(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

void pad(std::vector<std::byte>& out) {
  out.resize((out.size() + item_alignment - 1) / item_alignment * item_alignment);
}

template <typename T>
bool store_integer(const Json& value, std::byte* out) {
  T number{};
  if (value.is_number_unsigned()) {
    const auto wide = value.get<std::uint64_t>();
    if (!std::in_range<T>(wide)) return false;
    number = static_cast<T>(wide);
  } else if (value.is_number_integer()) {
    const auto wide = value.get<std::int64_t>();
    if (!std::in_range<T>(wide)) return false;
    number = static_cast<T>(wide);
  } else {
    return false;
  }
  std::memcpy(out, &number, sizeof(T));
  return true;
}

template <typename T>
bool store_float(const Json& value, std::byte* out) {
  T number{};
  if (value.is_number()) {
    const double wide = value.get<double>();
    if (std::isfinite(wide) && std::abs(wide) > static_cast<double>(std::numeric_limits<T>::max()))
      return false;
    number = static_cast<T>(wide);
  } else if (value == "NaN") {
    number = std::numeric_limits<T>::quiet_NaN();
  } else if (value == "Infinity") {
    number = std::numeric_limits<T>::infinity();
  } else if (value == "-Infinity") {
    number = -std::numeric_limits<T>::infinity();
  } else {
    return false;
  }
  std::memcpy(out, &number, sizeof(T));
  return true;
}

/// Writes `value` to `out`, which has room for it; false when it is no such scalar.
bool store_scalar(Scalar type, const Json& value, std::byte* out) {
  switch (type) {
    case Scalar::boolean:
      if (!value.is_boolean()) return false;
      *out = std::byte{value.get<bool>()};
      return true;
    case Scalar::i8:
      return store_integer<std::int8_t>(value, out);
    case Scalar::u8:
      return store_integer<std::uint8_t>(value, out);
    case Scalar::i16:
      return store_integer<std::int16_t>(value, out);
    case Scalar::u16:
      return store_integer<std::uint16_t>(value, out);
    case Scalar::i32:
      return store_integer<std::int32_t>(value, out);
    case Scalar::u32:
      return store_integer<std::uint32_t>(value, out);
    case Scalar::i64:
      return store_integer<std::int64_t>(value, out);
    case Scalar::u64:
      return store_integer<std::uint64_t>(value, out);
    case Scalar::f32:
      return store_float<float>(value, out);
    case Scalar::f64:
      return store_float<double>(value, out);
  }
  return false;
}

/// One scalar or structure of `type`, `type.element_size()` bytes at `out`, which is zero before.
bool store_element(const Type& type, const Json& value, std::byte* out) {
  if (!type.has_structure) return store_scalar(type.scalar, value, out);
  const Structure& structure = type.structure;
  if (!value.is_array() || value.size() != structure.fields.size()) return false;
  for (std::size_t i = 0; i < structure.fields.size(); ++i)
    if (!store_scalar(structure.fields[i].type, value[i], out + structure.fields[i].offset))
      return false;
  return true;
}

std::unexpected<Failure> wrong_argument(std::size_t number, const Type& type,
                                        std::string_view got) {
  return fail(ErrorCode::bad_request,
              fmt::format("argument {} should be {}, got {}", number, to_string(type), got));
}

Result<void> encode_json(const Type& type, std::size_t number, const Json& value,
                         std::vector<std::byte>& out) {
  if (type.kind == TypeKind::string) {
    if (!value.is_string()) return wrong_argument(number, type, describe(value));
    const auto& text = value.get_ref<const std::string&>();
    const std::uint64_t count = text.size();
    append_bytes(out, &count, sizeof count);
    append_bytes(out, text.data(), text.size());
  } else if (type.kind == TypeKind::span) {
    if (!value.is_array()) return wrong_argument(number, type, describe(value));
    const std::uint64_t count = value.size();
    append_bytes(out, &count, sizeof count);
    const std::size_t step = type.element_size();
    std::size_t at = out.size();
    out.resize(out.size() + value.size() * step);
    for (std::size_t i = 0; i < value.size(); ++i, at += step) {
      if (store_element(type, value[i], out.data() + at)) continue;
      return wrong_argument(number, type, fmt::format("{} as element {}", describe(value[i]), i));
    }
  } else {
    const std::size_t at = out.size();
    out.resize(at + type.element_size());
    if (!store_element(type, value, out.data() + at))
      return wrong_argument(number, type, describe(value));
  }
  pad(out);
  return {};
}

Result<void> encode_array(const Type& type, std::size_t number, const NpyArray& array,
                          std::vector<std::byte>& out) {
  const std::string got =
      array.shape.empty()
          ? fmt::format("one {} from a .npy file", to_string(array.element))
          : fmt::format("an array of {} from a .npy file", to_string(array.element));
  if (type.has_structure || type.scalar != array.element) return wrong_argument(number, type, got);
  if (type.kind == TypeKind::span) {
    const std::uint64_t count = array.count();
    append_bytes(out, &count, sizeof count);
  } else if (type.kind != TypeKind::scalar || array.count() != 1) {
    return wrong_argument(number, type, got);
  }
  append_bytes(out, array.data.data(), array.data.size());
  pad(out);
  return {};
}

std::unexpected<Failure> wrong_count(const Signature& signature, std::size_t got) {
  return fail(
      ErrorCode::bad_request,
      fmt::format("the function is {} and takes {} arguments{}, got {}", to_string(signature),
                  signature.input().size(),
                  signature.input().size() == signature.arguments.size() ? "" : " and data", got));
}

template <typename T>
T load_as(const std::byte* bytes) {
  T value{};
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

Json float_to_json(double value, std::string_view shortest) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  // The shortest text of a float, read as a double, prints as that text: 0.1, not
  // 0.10000000149011612.
  return parse_number<double>(shortest).value_or(value);
}

Json scalar_to_json(Scalar type, const std::byte* bytes) {
  switch (type) {
    case Scalar::boolean:
      return load_as<std::uint8_t>(bytes) != 0;
    case Scalar::i8:
      return load_as<std::int8_t>(bytes);
    case Scalar::u8:
      return load_as<std::uint8_t>(bytes);
    case Scalar::i16:
      return load_as<std::int16_t>(bytes);
    case Scalar::u16:
      return load_as<std::uint16_t>(bytes);
    case Scalar::i32:
      return load_as<std::int32_t>(bytes);
    case Scalar::u32:
      return load_as<std::uint32_t>(bytes);
    case Scalar::i64:
      return load_as<std::int64_t>(bytes);
    case Scalar::u64:
      return load_as<std::uint64_t>(bytes);
    case Scalar::f32: {
      const float value = load_as<float>(bytes);
      std::array<char, 64> text{};
      const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
      return float_to_json(value, {text.data(), end});
    }
    case Scalar::f64:
      return float_to_json(load_as<double>(bytes), "");
  }
  return {};
}

Json element_to_json(const Type& type, const std::byte* bytes) {
  if (!type.has_structure) return scalar_to_json(type.scalar, bytes);
  Json fields = Json::array();
  for (const Field& field : type.structure.fields)
    fields.push_back(scalar_to_json(field.type, bytes + field.offset));
  return fields;
}

std::unexpected<Failure> wrong_result(const Type& type, std::size_t size) {
  return fail(
      ErrorCode::bad_request,
      fmt::format("the function's output of {} bytes is not {}; does its signature match its code?",
                  size, to_string(type)));
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// {"done": false, "steps": 12, "state": …}
Result<std::string> decode_step(const Type& type, std::span<const std::byte> bytes) {
  const auto done = load<std::uint64_t>(bytes, 0);
  const auto steps = load<std::uint64_t>(bytes, sizeof(std::uint64_t));
  if (!done || !steps || *done > 1) return wrong_result(type, bytes.size());
  Signature inner{.result = type, .arguments = {}};
  inner.result.is_step = false;
  auto state = decode_result(inner, bytes.subspan(step_head_bytes));
  if (!state) return state;
  return fmt::format(R"({{"done":{},"steps":{},"state":{}}})", *done == 1, *steps, *state);
}

}  // namespace

Result<std::vector<std::byte>> encode_arguments(const Signature& signature, std::string_view json) {
  const std::vector<Type> types = signature.input();
  Json values = Json::parse(json, nullptr, false);
  if (values.is_discarded())
    return fail(
        ErrorCode::bad_request,
        "the arguments are not JSON; write an array of them, such as [1, [2.5, 3], \"text\"]");
  if (!values.is_array())
    return fail(ErrorCode::bad_request,
                fmt::format("the arguments of {} should be a JSON array of {}, got {}",
                            to_string(signature), types.size(), describe(values)));
  if (values.size() != types.size()) return wrong_count(signature, values.size());
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (auto encoded = encode_json(types[i], i + 1, values[i], out); !encoded)
      return fail(std::move(encoded.error()));
  return out;
}

Result<std::vector<std::byte>> encode_arguments(const Signature& signature,
                                                std::span<const Argument> arguments) {
  const std::vector<Type> types = signature.input();
  if (arguments.size() != types.size()) return wrong_count(signature, arguments.size());
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Type& type = types[i];
    Result<void> encoded;
    if (const auto* array = std::get_if<NpyArray>(&arguments[i])) {
      encoded = encode_array(type, i + 1, *array, out);
    } else {
      const Json value = Json::parse(std::get<JsonText>(arguments[i]).text, nullptr, false);
      encoded = value.is_discarded() ? wrong_argument(i + 1, type, "something that is not JSON")
                                     : encode_json(type, i + 1, value, out);
    }
    if (!encoded) return fail(std::move(encoded.error()));
  }
  return out;
}

Result<std::string> decode_result(const Signature& signature, std::span<const std::byte> bytes) {
  const Type& type = signature.result;
  if (type.is_step) return decode_step(type, bytes);
  if (type.kind == TypeKind::nothing) {
    if (!bytes.empty()) return wrong_result(type, bytes.size());
    return "null";
  }
  if (type.kind == TypeKind::data) {
    DataId made;
    if (bytes.size() != made.bytes.size()) return wrong_result(type, bytes.size());
    std::ranges::copy(bytes, made.bytes.begin());
    return dump(Json(to_string(made)));
  }
  const std::size_t step = type.element_size();
  std::uint64_t count = 1;
  std::uint64_t start = 0;
  if (type.kind == TypeKind::span || type.kind == TypeKind::string) {
    const auto stated = load<std::uint64_t>(bytes, 0);
    if (!stated) return wrong_result(type, bytes.size());
    count = *stated;
    start = 8;
  }
  if (count > (bytes.size() - start) / step) return wrong_result(type, bytes.size());
  const std::uint64_t end = start + count * step;
  if (bytes.size() - end >= item_alignment) return wrong_result(type, bytes.size());
  const auto content = bytes.subspan(start, count * step);
  if (type.kind == TypeKind::string) return dump(Json(std::string(as_text(content))));
  if (type.kind != TypeKind::span) return dump(element_to_json(type, content.data()));
  Json values = Json::array();
  for (std::uint64_t i = 0; i < count; ++i)
    values.push_back(element_to_json(type, content.data() + i * step));
  return dump(values);
}

}  // namespace orchid::module
