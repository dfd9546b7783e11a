// orchid/values.h: the values that typed entries take and give: their types as signature text,
// known at compile time, and their bytes (docs/PROTOCOL.md §7). C++20, nothing but the standard
// library: functions and their callers share it.
//
// A type is one of: a scalar (bool, integers, float, double, enumerations), a trivially copyable
// struct named by ORCHID_STRUCT, std::span<T> and std::vector<T> of those, std::string_view and
// std::string.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "orchid/text_writer.h"

static_assert(std::endian::native == std::endian::little, "values travel in little-endian order");

/// After a struct, in its namespace:  struct Point { double x, y; };  ORCHID_STRUCT(Point, x, y)
/// Names all fields in their order. Fields are scalars, structs named before, and arrays of those.
#define ORCHID_STRUCT(Type, ...)                                               \
  [[maybe_unused]] inline constexpr auto orchid_describe_struct(const Type*) { \
    using OrchidDescribed = Type;                                              \
    return ::orchid::values::StructFields<OrchidDescribed __VA_OPT__(          \
        ORCHID_VALUES_EXPAND(ORCHID_VALUES_EACH(__VA_ARGS__)))>{};             \
  }                                                                            \
  static_assert(::orchid::values::check_struct<Type>());

#define ORCHID_VALUES_PARENTHESES ()
#define ORCHID_VALUES_EXPAND(...) \
  ORCHID_VALUES_EXPAND3(ORCHID_VALUES_EXPAND3(ORCHID_VALUES_EXPAND3(__VA_ARGS__)))
#define ORCHID_VALUES_EXPAND3(...) \
  ORCHID_VALUES_EXPAND2(ORCHID_VALUES_EXPAND2(ORCHID_VALUES_EXPAND2(__VA_ARGS__)))
#define ORCHID_VALUES_EXPAND2(...) \
  ORCHID_VALUES_EXPAND1(ORCHID_VALUES_EXPAND1(ORCHID_VALUES_EXPAND1(__VA_ARGS__)))
#define ORCHID_VALUES_EXPAND1(...) \
  ORCHID_VALUES_EXPAND0(ORCHID_VALUES_EXPAND0(ORCHID_VALUES_EXPAND0(__VA_ARGS__)))
#define ORCHID_VALUES_EXPAND0(...) __VA_ARGS__
#define ORCHID_VALUES_EACH(field, ...)                                                          \
  , ::orchid::values::Field<decltype(OrchidDescribed::field), offsetof(OrchidDescribed, field)> \
    __VA_OPT__(ORCHID_VALUES_EACH_AGAIN ORCHID_VALUES_PARENTHESES(__VA_ARGS__))
#define ORCHID_VALUES_EACH_AGAIN() ORCHID_VALUES_EACH

namespace orchid::values {

template <typename T, std::size_t Offset>
struct Field {};
template <typename T, typename... Fields>
struct StructFields {};

template <typename T>
concept Scalar = (std::is_integral_v<T> && sizeof(T) <= 8 && !std::is_same_v<T, wchar_t>) ||
                 std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_enum_v<T>;
template <typename T>
concept Struct = requires { orchid_describe_struct(static_cast<const T*>(nullptr)); };
template <typename T>
concept Element = Scalar<T> || Struct<T>;

template <typename T>
struct SequenceTraits : std::false_type {};
template <typename T>
struct SequenceTraits<std::span<T>> : std::true_type {
  using Item = std::remove_const_t<T>;
};
template <typename T>
struct SequenceTraits<std::vector<T>> : std::true_type {
  using Item = T;
};
template <typename T>
concept Sequence = SequenceTraits<T>::value && Element<typename SequenceTraits<T>::Item> &&
                   !std::is_same_v<T, std::vector<bool>>;
template <typename T>
concept Text = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;
template <typename T>
concept Value = Element<T> || Sequence<T> || Text<T>;
/// An argument that is in no input, orchid::Data, or the result that stands for an object,
/// orchid::NewData (orchid/function.hpp).
template <typename T>
concept DataArgument = !SequenceTraits<T>::value && requires { typename SequenceTraits<T>::Item; };

/// What a step function gives, orchid::Stepped (orchid/step.hpp): a state, with a head before it.
template <typename T>
concept StepResult = requires { typename T::OrchidStepState; };

constexpr std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

// ---- signature text ----

template <Scalar T>
constexpr std::string_view scalar_name() {
  if constexpr (std::is_enum_v<T>) {
    return scalar_name<std::underlying_type_t<T>>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? "f32" : "f64";
  } else {
    constexpr std::string_view signed_names[] = {"i8", "i16", "i32", "i64"};
    constexpr std::string_view unsigned_names[] = {"u8", "u16", "u32", "u64"};
    constexpr std::size_t index = std::bit_width(sizeof(T)) - 1;
    // char is signed on one architecture and not on another; a signature must not differ between
    // them.
    constexpr bool is_signed = std::is_signed_v<T> || std::is_same_v<T, char>;
    return is_signed ? signed_names[index] : unsigned_names[index];
  }
}

template <typename T>
constexpr void write_fields(TextWriter& out, std::size_t offset, bool& first);

template <typename Whole, typename... T, std::size_t... Offset>
constexpr void write_each_field(StructFields<Whole, Field<T, Offset>...>, TextWriter& out,
                                std::size_t offset, bool& first) {
  (write_fields<T>(out, offset + Offset, first), ...);
}

template <typename T>
constexpr void write_fields(TextWriter& out, std::size_t offset, bool& first) {
  if constexpr (std::is_array_v<T>) {
    using Item = std::remove_extent_t<T>;
    for (std::size_t i = 0; i < std::extent_v<T>; ++i)
      write_fields<Item>(out, offset + i * sizeof(Item), first);
  } else if constexpr (Struct<T>) {
    write_each_field(orchid_describe_struct(static_cast<const T*>(nullptr)), out, offset, first);
  } else {
    static_assert(Scalar<T>,
                  "a field of an ORCHID_STRUCT is a scalar, an array, or another ORCHID_STRUCT");
    if (!first) out.put(",");
    first = false;
    out.put(scalar_name<T>());
    out.put("@");
    out.put_number(offset);
  }
}

template <typename T>
  requires Value<T> || DataArgument<T>
constexpr void write_type(TextWriter& out) {
  if constexpr (Scalar<T>) {
    out.put(scalar_name<T>());
  } else if constexpr (Struct<T>) {
    bool first = true;
    out.put("struct<");
    out.put_number(sizeof(T));
    out.put(",");
    out.put_number(alignof(T));
    out.put(":");
    write_fields<T>(out, 0, first);
    out.put(">");
  } else if constexpr (Sequence<T> || DataArgument<T>) {
    out.put(DataArgument<T> ? "data<" : "span<");
    write_type<typename SequenceTraits<T>::Item>(out);
    out.put(">");
  } else {
    out.put("string");
  }
}

template <std::size_t Size>
struct SignatureText {
  char text[Size + 1];  // ends with a zero
  [[nodiscard]] constexpr std::string_view view() const { return {text, Size}; }
};

template <typename Write>
constexpr std::size_t measure(Write write) {
  TextWriter counter(nullptr);
  write(counter);
  return counter.size();
}
template <std::size_t Size, typename Write>
constexpr SignatureText<Size> written(Write write) {
  SignatureText<Size> result{};
  TextWriter writer(result.text);
  write(writer);
  return result;
}

template <typename T>
constexpr void write_parameter(TextWriter& out, bool& first) {
  static_assert(Value<T> || DataArgument<T>,
                "an entry takes scalars, ORCHID_STRUCTs, spans, vectors, strings and orchid::Data");
  if (!first) out.put(",");
  first = false;
  write_type<T>(out);
}

template <typename F>
struct FunctionTraits;
template <typename R, typename... Args>
struct FunctionTraits<R(Args...)> {
  using Result = std::remove_cvref_t<R>;
  using Held = std::tuple<std::remove_cvref_t<Args>...>;  // what the decoded arguments are kept in

  static constexpr void write(TextWriter& out) {
    if constexpr (std::is_void_v<Result>) {
      out.put("void");
    } else if constexpr (StepResult<Result>) {
      out.put("step<");
      write_type<typename Result::OrchidStepState>(out);
      out.put(">");
    } else {
      static_assert(Value<Result> || DataArgument<Result>,
                    "an entry returns void, or what it can take; NewData in place of Data");
      write_type<Result>(out);
    }
    [[maybe_unused]] bool first = true;
    out.put("(");
    (write_parameter<std::remove_cvref_t<Args>>(out, first), ...);
    out.put(")");
  }
  static constexpr auto signature = written<measure(write)>(write);
};
template <typename R, typename... Args>
struct FunctionTraits<R(Args...) noexcept> : FunctionTraits<R(Args...)> {};

/// "f64(span<f64>,span<f64>)" for double(std::span<const double>, std::span<const double>).
template <typename F>
constexpr std::string_view signature_of() {
  return FunctionTraits<F>::signature.view();
}
template <Value T>
inline constexpr auto type_text = written<measure(write_type<T>)>(write_type<T>);

// ---- what ORCHID_STRUCT checks ----

template <typename T>
constexpr std::size_t alignment_of_field() {
  return alignof(std::remove_all_extents_t<T>);
}
template <typename Whole, typename... T, std::size_t... Offset>
constexpr bool fields_are_complete(StructFields<Whole, Field<T, Offset>...>) {
  std::size_t end = 0;
  bool complete = true;
  // A gap as large as the next field's alignment is no padding: a field is missing there.
  ((complete = complete && Offset >= end && Offset - end < alignment_of_field<T>(),
    end = Offset + sizeof(T)),
   ...);
  return complete && sizeof(Whole) - end < alignof(Whole);
}
template <typename T>
constexpr bool check_struct() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>,
                "an ORCHID_STRUCT is trivially copyable and has standard layout");
  static_assert(std::is_default_constructible_v<T>, "an ORCHID_STRUCT has a default constructor");
  static_assert(alignof(T) <= 8, "elements of 16-byte or stricter alignment are not allowed");
  static_assert(
      fields_are_complete(decltype(orchid_describe_struct(static_cast<const T*>(nullptr))){}),
      "ORCHID_STRUCT names all fields, in their order");
  return true;
}

// ---- bytes ----

template <Value T>
constexpr std::size_t encoded_size(const T& value) {
  if constexpr (Element<T>) {
    return padded(sizeof(T));
  } else {
    return 8 + padded(value.size() * sizeof(*value.data()));
  }
}

/// Writes `value` at `out` (aligned to 8) with its padding and returns where the next one goes.
template <Value T>
std::byte* encode(std::byte* out, const T& value) {
  std::size_t size = 0;
  if constexpr (Element<T>) {
    size = sizeof(T);
    std::memcpy(out, &value, size);
  } else {
    const std::uint64_t count = value.size();
    std::memcpy(out, &count, sizeof(count));
    out += sizeof(count);
    size = value.size() * sizeof(*value.data());
    if (size != 0) std::memcpy(out, value.data(), size);
  }
  const std::size_t whole = padded(size);
  if (whole != size) std::memset(out + size, 0, whole - size);
  return out + whole;
}

/// The arguments of one call as bytes.
template <Value... T>
std::vector<std::byte> encode_all(const T&... value) {
  std::vector<std::byte> bytes((std::size_t{0} + ... + encoded_size(value)));
  [[maybe_unused]] std::byte* out = bytes.data();
  ((out = encode(out, value)), ...);
  return bytes;
}

/// Reads values one after the other from bytes that it does not trust. Spans and string views that
/// it gives point into the bytes, which must be aligned to 8 then. After the first mistake every
/// read fails; `problem` says what it was.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <Value T>
  [[nodiscard]] bool read(T& value) {
    if (failed_) return false;
    ++position_;
    if constexpr (Element<T>) {
      if (rest_.size() < padded(sizeof(T)))
        return fail(type_text<T>.view(), padded(sizeof(T)), "bytes are needed");
      if constexpr (std::is_same_v<T, bool>) {
        value = rest_[0] != std::byte{0};
      } else {
        std::memcpy(&value, rest_.data(), sizeof(T));
      }
      rest_ = rest_.subspan(padded(sizeof(T)));
      return true;
    } else {
      return read_counted(value);
    }
  }
  /// True when nothing is left.
  [[nodiscard]] bool finish() {
    if (failed_) return false;
    if (rest_.empty()) return true;
    problem_ = std::to_string(rest_.size()) + " bytes follow the last value";
    failed_ = true;
    return false;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  bool read_counted(T& value) {
    using Item = std::remove_cvref_t<decltype(*value.data())>;
    if (rest_.size() < 8)
      return fail(type_text<T>.view(), 8, "bytes are needed for its element count");
    std::uint64_t count = 0;
    std::memcpy(&count, rest_.data(), sizeof(count));
    const std::size_t room = rest_.size() - 8;
    if (count > room / sizeof(Item) || padded(count * sizeof(Item)) > room)
      return fail(type_text<T>.view(), count, "elements are announced");
    const std::byte* data = rest_.data() + 8;
    if constexpr (std::is_same_v<Item, bool>) {
      for (std::size_t i = 0; i < count; ++i)
        if (std::to_integer<unsigned>(data[i]) > 1)
          return fail(type_text<T>.view(), i, "is the element that is neither 0 nor 1");
    }
    if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>) {
      value = T(reinterpret_cast<const char*>(data), count);
    } else if constexpr (std::is_same_v<T, std::vector<Item>>) {
      value.resize(count);
      if (count != 0) std::memcpy(value.data(), data, count * sizeof(Item));
    } else {  // a function may change its input in place, so a span of non-const elements is
              // allowed
      value = T(reinterpret_cast<Item*>(const_cast<std::byte*>(data)), count);
    }
    rest_ = rest_.subspan(8 + padded(count * sizeof(Item)));
    return true;
  }
  bool fail(std::string_view type, std::uint64_t number, std::string_view what) {
    problem_ = "value " + std::to_string(position_) + ", a ";
    problem_.append(type).append(": ").append(std::to_string(number)).append(" ").append(what);
    problem_.append(", and ").append(std::to_string(rest_.size())).append(" bytes are left");
    failed_ = true;
    return false;
  }

  std::span<const std::byte> rest_;
  std::size_t position_ = 0;
  bool failed_ = false;
  std::string problem_;
};

/// Reads all of `values` and nothing else.
template <typename... T>
[[nodiscard]] bool decode_all(Decoder& decoder, std::tuple<T...>& values) {
  return std::apply([&](T&... value) { return (decoder.read(value) && ...); }, values) &&
         decoder.finish();
}

}  // namespace orchid::values
