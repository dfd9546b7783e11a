// functions/md5search/search.h: tries all strings of a given length: a launch for each choice of
// the letters that no launch tries.
#pragma once
#include "kernel.h"

#if ORCHID_HOST
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace search {

inline constexpr std::uint64_t most_items = std::uint64_t{1} << 20;
inline constexpr std::size_t most_letters = 255;  // search::Args::found is a byte

inline md5::State parse_digest(std::string_view text) {
  std::array<std::uint32_t, 4> words{};
  bool good = text.size() == 32;
  for (std::size_t i = 0; good && i < words.size(); ++i) {
    const char* end = text.data() + 8 * i + 8;
    const auto [stop, error] = std::from_chars(end - 8, end, words[i], 16);
    good = error == std::errc() && stop == end;
  }
  if (!good) throw std::invalid_argument("an MD5 has 32 hexadecimal digits");
  // The first byte is the lowest.
  const auto word = [&](std::size_t i) { return __builtin_bswap32(words[i]); };
  return {.a = word(0), .b = word(1), .c = word(2), .d = word(3)};
}

/// All strings of one length, a launch for each choice of the letters that no launch tries.
class Search {
 public:
  Search(const md5::State& digest, std::string_view alphabet, std::uint32_t length,
         std::string_view suffix)
      : alphabet_(alphabet), length_(length), suffix_(suffix) {
    args_.digest = digest;
    args_.letter_count = static_cast<std::uint32_t>(alphabet.size());
    args_.reciprocal = ((std::uint64_t{1} << 32) + alphabet.size() - 1) / alphabet.size();
    while (args_.item_letters + 1 < std::min(length, letters_of_launch) &&
           items_ * alphabet.size() <= most_items) {
      items_ *= alphabet.size();
      ++args_.item_letters;
    }
    fixed_letters_.resize(length - 1 - args_.item_letters);
  }

  /// The empty string: there is none. Nothing: it failed.
  [[nodiscard]] std::optional<std::string> run(orchid::Call& call) {
    std::vector<std::uint32_t> letters;
    for (const char letter : alphabet_) letters.push_back(static_cast<unsigned char>(letter));
    const orchid::DeviceSpan<std::uint32_t> alphabet(call, letters);
    const orchid::DeviceSpan<std::uint8_t> on_device(call, items_);
    if (!alphabet || !on_device) return std::nullopt;
    args_.alphabet = alphabet.data();
    args_.found = on_device.data();
    const double launches = std::pow(letters.size(), fixed_letters_.size());
    std::vector<std::uint8_t> found(items_);
    for (double launch = 0;; ++launch) {
      call.progress(launch / launches);
      write_message();
      if (!orchid::launch(call, md5_match, items_, args_) || !orchid::wait(call) ||
          !on_device.copy_to(found))
        return std::nullopt;
      const auto match = std::ranges::find_if(found, [](std::uint8_t place) { return place != 0; });
      if (match != found.end())
        return string_of(static_cast<std::uint64_t>(match - found.begin()), *match - 1U);
      if (!choose_next()) return "";
    }
  }

 private:
  void write_message() {
    std::array<unsigned char, sizeof args_.message> bytes{};
    const std::uint32_t first_fixed = 1 + args_.item_letters;
    for (std::size_t i = 0; i < fixed_letters_.size(); ++i)
      bytes[first_fixed + i] = static_cast<unsigned char>(alphabet_[fixed_letters_[i]]);
    const std::size_t size = length_ + suffix_.size();
    std::memcpy(&bytes[length_], suffix_.data(), suffix_.size());
    bytes[size] = 0x80;
    std::memcpy(args_.message, bytes.data(), sizeof args_.message);
    args_.message[14] = static_cast<std::uint32_t>(8 * size);
  }

  /// False: all have been tried.
  [[nodiscard]] bool choose_next() {
    for (std::uint32_t& letter : fixed_letters_) {
      if (++letter < alphabet_.size()) return true;
      letter = 0;
    }
    return false;
  }

  [[nodiscard]] std::string string_of(std::uint64_t item, std::uint32_t first) const {
    std::string text(1, alphabet_[first]);
    for (std::uint32_t i = 0; i < args_.item_letters; ++i, item /= alphabet_.size())
      text += alphabet_[item % alphabet_.size()];
    for (const std::uint32_t letter : fixed_letters_) text += alphabet_[letter];
    return text.append(suffix_);
  }

  std::string_view alphabet_;
  std::uint32_t length_;
  std::string_view suffix_;
  Args args_{};
  std::uint64_t items_ = 1;
  std::vector<std::uint32_t> fixed_letters_;  // places in the alphabet
};

inline std::optional<std::string> find_string(orchid::Call& call, std::string_view digest,
                                              std::string_view alphabet, std::uint32_t length,
                                              std::string_view suffix) {
  if (alphabet.empty() || alphabet.size() > most_letters)
    throw std::invalid_argument("the alphabet has 1 to 255 letters");
  if (length == 0 || suffix.size() >= md5::longest_message ||
      length > md5::longest_message - suffix.size())
    throw std::invalid_argument(
        "at least one letter is searched for, and with the suffix at most "
        "55 bytes");
  return Search(parse_digest(digest), alphabet, length, suffix).run(call);
}

}  // namespace search
#endif
