// functions/words: how often each word occurs in a text, for the flow in words.yaml: a map over
// parts of the text, which stays where it is, and one table of all of theirs.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orchid/function.hpp"
#include "piece.h"

namespace {

using words::Piece;

constexpr std::uint32_t most_pieces = 1 << 20;

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const {
    return std::hash<std::string_view>()(word);
  }
};
using Table = std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>>;

bool is_space(std::uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

void add(Table& table, std::string_view word, std::uint64_t count) {
  const auto found = table.find(word);
  if (found != table.end())
    found->second += count;
  else
    table.emplace(word, count);
}

void append_line(std::string& text, std::string_view word, std::uint64_t count) {
  text.append(word).append(" ").append(std::to_string(count)).append("\n");
}

}  // namespace

/// A text of `size` bytes: `most` words, some much more often than others, as in a language.
std::optional<orchid::NewData<std::uint8_t>> text(orchid::Call& call, std::uint64_t size,
                                                  std::uint32_t most) {
  if (most == 0) throw std::invalid_argument("a text has at least one word");
  auto room = orchid::Room<std::uint8_t>::create(call, size);
  if (!room) return std::nullopt;
  const auto bytes = room->span();
  std::uint64_t state = 1;
  for (std::uint64_t at = 0; at < size;) {
    // Knuth's linear congruential generator (MMIX); the square makes low numbers frequent.
    state = state * 6364136223846793005 + 1442695040888963407;
    const std::uint64_t part = state >> 40U;
    std::array<char, 16> word{'w'};
    char* end = std::to_chars(word.data() + 1, word.data() + word.size(),
                              (part * part >> 24U) * most >> 24U)
                    .ptr;
    *end++ = ' ';
    const auto length = std::min<std::uint64_t>(end - word.data(), size - at);
    std::copy_n(word.data(), length, bytes.data() + at);
    at += length;
  }
  return room->as_result(size);
}
ORCHID_FUNCTION(text)

/// `count` parts of about the same size, which end where words do.
std::vector<Piece> pieces(orchid::Data<std::uint8_t> text, std::uint32_t count) {
  if (count == 0 || count > most_pieces)
    throw std::invalid_argument("a text is counted in 1 to 1048576 pieces");
  std::vector<Piece> all;
  std::uint64_t begin = 0;
  for (std::uint32_t i = 1; i <= count && begin < text.size(); ++i) {
    std::uint64_t end = std::max(begin, text.size() / count * i);
    if (i == count) end = text.size();
    while (end < text.size() && !is_space(text[end])) ++end;
    if (end > begin) all.push_back({.begin = begin, .end = end});
    begin = end;
  }
  return all;
}
ORCHID_FUNCTION(pieces)

/// Lines `WORD COUNT` of one part.
std::string count(const Piece& piece, orchid::Data<std::uint8_t> text) {
  if (piece.begin > piece.end || piece.end > text.size())
    throw std::invalid_argument("the piece is not within the text");
  Table table;
  const auto* const bytes = reinterpret_cast<const char*>(text.data());
  for (std::uint64_t at = piece.begin; at < piece.end;) {
    while (at < piece.end && is_space(text[at])) ++at;
    const std::uint64_t begin = at;
    while (at < piece.end && !is_space(text[at])) ++at;
    if (at > begin) add(table, std::string_view(bytes + begin, at - begin), 1);
  }
  std::string lines;
  for (const auto& [word, times] : table) append_line(lines, word, times);
  return lines;
}
ORCHID_FUNCTION(count)

/// The `most` most frequent of all parts' lines; of equally frequent ones by the alphabet.
std::string total(std::string_view lines, std::uint32_t most) {
  Table table;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    std::uint64_t times = 0;
    if (space == std::string_view::npos ||
        std::from_chars(line.data() + space + 1, line.data() + line.size(), times).ec !=
            std::errc())
      throw std::invalid_argument("a line is a word, a space and a number");
    add(table, line.substr(0, space), times);
  }
  std::vector<std::pair<std::uint64_t, std::string_view>> all;
  for (const auto& [word, times] : table) all.emplace_back(times, word);
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string result;
  for (std::size_t i = 0; i < std::min<std::size_t>(most, all.size()); ++i)
    append_line(result, all[i].second, all[i].first);
  return result;
}
ORCHID_FUNCTION(total)
