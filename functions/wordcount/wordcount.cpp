// functions/wordcount: lines, words and bytes of a text, as coreutils' wc counts them in the C
// locale.
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>

#include "orchid/function.h"

namespace {

struct Counts {
  std::uint64_t lines = 0;
  std::uint64_t words = 0;
};

// What a byte does to the word it stands in. As in wc, a byte that is neither white space nor
// printable does nothing: it neither starts a word nor ends one.
enum class Role : std::uint8_t { neither, ends_word, in_word };

constexpr std::array<Role, 256> roles = [] {
  std::array<Role, 256> table{};
  for (int byte = '!'; byte <= '~'; ++byte) table[byte] = Role::in_word;
  for (const char space : {' ', '\t', '\n', '\v', '\f', '\r'}) table[space] = Role::ends_word;
  return table;
}();

Counts count(std::span<const std::uint8_t> text) {
  Counts counts;
  bool in_word = false;
  for (const std::uint8_t byte : text) {
    const Role role = roles[byte];
    counts.lines += byte == '\n';
    counts.words += role == Role::in_word && !in_word;
    in_word = role == Role::in_word || (in_word && role == Role::neither);
  }
  return counts;
}

}  // namespace

ORCHID_ENTRY(wordcount) {
  const auto counts = count({static_cast<const std::uint8_t*>(input), input_size});
  std::array<char, 3 * 21> text;  // three numbers of at most 20 digits, a separator after each
  char* end = text.data();
  for (const std::uint64_t number : {counts.lines, counts.words, std::uint64_t{input_size}}) {
    end = std::to_chars(end, text.data() + text.size(), number).ptr;
    *end++ = ' ';
  }
  end[-1] = '\n';
  const auto size = static_cast<std::size_t>(end - text.data());
  void* output = orchid_output(call, size);
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, text.data(), size);
  return ORCHID_OK;
}
