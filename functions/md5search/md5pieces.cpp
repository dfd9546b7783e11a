// functions/md5search: the same search in pieces, for the flow in search.yaml: a piece is all
// strings that end with one letter.
#include "search.h"

#if ORCHID_HOST
/// The pieces: the last letters.
std::vector<std::uint8_t> pieces(std::string_view alphabet) {
  return {alphabet.begin(), alphabet.end()};
}
ORCHID_FUNCTION(pieces)

/// The string of one piece that has the MD5, or an empty one.
std::optional<std::string> piece(orchid::Call& call, std::uint8_t last_letter,
                                 std::string_view digest, std::string_view alphabet,
                                 std::uint32_t length) {
  if (length < 2) throw std::invalid_argument("a search in pieces has 2 letters at least");
  const char letter = static_cast<char>(last_letter);
  return search::find_string(call, digest, alphabet, length - 1, std::string_view(&letter, 1));
}
ORCHID_FUNCTION(piece)
#endif
