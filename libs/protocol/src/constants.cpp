#include "protocol/constants.h"

#include <algorithm>
#include <span>
#include <utility>

#include "protocol/digest.h"

namespace orchid {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

/// What a C identifier has.
bool is_constant_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_constant_name &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

std::unexpected<Failure> no_constant(std::string_view name) {
  return fail(ErrorCode::bad_request,
              "no constant has such a name: '" +
                  std::string(name.substr(0, longest_constant_name)) +
                  "'; it is letters, digits and '_', without orchid_constant_");
}

std::unexpected<Failure> too_many_bytes() {
  return fail(ErrorCode::too_large,
              "the constants are more than can be set at once, which is some " +
                  std::to_string(longest_constants / 2) + " bytes");
}

/// Nothing: it is no line of that kind.
Result<Constant> parse_line(std::string_view line) {
  const std::size_t sign = line.find('=');
  const std::string_view name = line.substr(0, sign);
  if (sign == std::string_view::npos || !is_constant_name(name)) return no_constant(name);
  const std::string_view text = line.substr(sign + 1);
  Constant constant{.name = std::string(name), .value = {}};
  if (text.size() % 2 != 0) return fail(ErrorCode::bad_request, "a constant has half a byte");
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const std::size_t high = digits.find(text[at]);
    const std::size_t low = digits.find(text[at + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos)
      return fail(ErrorCode::bad_request, "a constant's bytes are no hexadecimal digits");
    constant.value.push_back(static_cast<std::byte>(high << 4U | low));
  }
  return constant;
}

}  // namespace

Result<std::string> encode_constants(std::vector<Constant> constants) {
  if (constants.size() > most_constants)
    return fail(ErrorCode::too_large,
                "at most " + std::to_string(most_constants) + " constants are set at once");
  std::ranges::sort(constants, {}, &Constant::name);
  std::string text;
  std::string_view last;
  for (const Constant& constant : constants) {
    if (!is_constant_name(constant.name)) return no_constant(constant.name);
    if (constant.name == last)
      return fail(ErrorCode::bad_request, "the constant '" + constant.name + "' is set twice");
    last = constant.name;
    if (text.size() + constant.name.size() + 2 * constant.value.size() + 2 > longest_constants)
      return too_many_bytes();
    text += constant.name + "=";
    for (const std::byte byte : constant.value) {
      text += digits[std::to_integer<unsigned>(byte) >> 4U];
      text += digits[std::to_integer<unsigned>(byte) & 15U];
    }
    text += "\n";
  }
  return text;
}

Result<std::vector<Constant>> parse_constants(std::string_view text) {
  if (text.size() > longest_constants) return too_many_bytes();
  std::vector<Constant> constants;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || constants.size() == most_constants)
      return fail(ErrorCode::bad_request, "these are no constants of a module");
    auto constant = parse_line(text.substr(0, end));
    if (!constant) return fail(std::move(constant.error()));
    constants.push_back(std::move(*constant));
    text.remove_prefix(end + 1);
  }
  return constants;
}

std::string digest_with_constants(std::string_view base, std::string_view constants) {
  std::string text = "orchid constants 1\n";
  text.append(base).append("\n").append(constants);
  return digest_of(std::as_bytes(std::span(text)));
}

}  // namespace orchid
