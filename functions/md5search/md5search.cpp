// functions/md5search: finds the string that has a given MD5, by trying all strings of a given
// length.
#include "search.h"

#if ORCHID_HOST
std::optional<std::string> md5search(orchid::Call& call, std::string_view digest,
                                     std::string_view alphabet, std::uint32_t length,
                                     std::string_view suffix) {
  return search::find_string(call, digest, alphabet, length, suffix);
}
ORCHID_FUNCTION(md5search)
#endif
