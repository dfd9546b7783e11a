#include "module/npy.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "byte_reader.h"
#include "foundation/files.h"
#include "foundation/numbers.h"

namespace orchid::module {
namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};

struct Head {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

std::unexpected<Failure> reject_file(std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("not a readable .npy file: {}", what));
}

/// Reads the Python dict literal that numpy.save writes; nothing more of Python.
class HeadParser {
 public:
  explicit HeadParser(std::string_view text) : text_(text) {}

  Result<Head> parse() {
    Head head;
    if (!take('{')) return reject_file("its head is damaged");
    while (!take('}')) {
      const auto key = take_string();
      if (!key || !take(':')) return reject_file("its head is damaged");
      bool good = false;
      if (*key == "descr") {
        if (peek() == '[') return reject_file("it holds records; save one array of numbers");
        const auto value = take_string();
        good = value.has_value();
        if (good) head.descr = *value;
      } else if (*key == "fortran_order") {
        head.fortran_order = take_word("True");
        good = head.fortran_order || take_word("False");
      } else if (*key == "shape") {
        good = take_shape(head.shape);
      }
      if (!good) return reject_file("its head is damaged");
      take(',');
    }
    return head;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> take_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool take_shape(std::vector<std::uint64_t>& shape) {
    constexpr std::size_t most_dimensions = 64;
    if (!take('(')) return false;
    while (!take(')')) {
      skip_space();
      std::string_view rest = text_.substr(at_);
      const auto length = take_number<std::uint64_t>(rest);
      if (!length || shape.size() == most_dimensions) return false;
      at_ = text_.size() - rest.size();
      shape.push_back(*length);
      if (peek() != ')' && !take(',')) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<Scalar> parse_descr(std::string_view descr) {
  constexpr std::array<std::pair<std::string_view, Scalar>, 11> known{{{"b1", Scalar::boolean},
                                                                       {"i1", Scalar::i8},
                                                                       {"u1", Scalar::u8},
                                                                       {"i2", Scalar::i16},
                                                                       {"u2", Scalar::u16},
                                                                       {"i4", Scalar::i32},
                                                                       {"u4", Scalar::u32},
                                                                       {"i8", Scalar::i64},
                                                                       {"u8", Scalar::u64},
                                                                       {"f4", Scalar::f32},
                                                                       {"f8", Scalar::f64}}};
  if (descr.size() == 3) {
    for (const auto& [name, scalar] : known) {
      if (descr.substr(1) != name) continue;
      if (descr[0] == '>' && size_of(scalar) > 1)
        return reject_file(
            fmt::format("its numbers are big-endian; save array.astype('<{}')", name));
      return scalar;
    }
  }
  return reject_file(fmt::format(
      "elements of type '{}' cannot be passed; use bool, (u)int8 to 64, float32 or float64",
      descr));
}

}  // namespace

Result<NpyArray> read_npy(std::span<const std::byte> file) {
  const std::string_view text = as_text(file);
  if (!text.starts_with(magic))
    return reject_file("it does not start with NumPy's mark; make it with numpy.save");
  const auto version = load<std::uint8_t>(file, 6);
  if (!version || *version < 1 || *version > 3) return reject_file("its format is not 1, 2 or 3");
  std::uint64_t start = 10;
  std::optional<std::uint64_t> length = load<std::uint16_t>(file, 8);
  if (*version > 1) {
    start = 12;
    length = load<std::uint32_t>(file, 8);
  }
  const auto head_bytes = length ? slice(file, start, *length) : std::nullopt;
  if (!head_bytes)
    return reject_file(fmt::format("it is truncated at byte {}, in its head", file.size()));
  auto head = HeadParser(as_text(*head_bytes)).parse();
  if (!head) return fail(std::move(head.error()));
  const auto element = parse_descr(head->descr);
  if (!element) return fail(element.error());
  if (head->fortran_order && head->shape.size() > 1)
    return reject_file("it is in Fortran order; save numpy.ascontiguousarray(array)");
  std::uint64_t bytes = size_of(*element);
  for (const std::uint64_t dimension : head->shape)
    if (__builtin_mul_overflow(bytes, dimension, &bytes))
      return reject_file("its shape is too large");
  const auto data = slice(file, start + *length, bytes);
  if (!data)
    return reject_file(fmt::format("it is truncated at byte {}: its shape needs {} bytes",
                                   file.size(), start + *length + bytes));
  return NpyArray{.element = *element, .shape = std::move(head->shape), .data = *data};
}

}  // namespace orchid::module
