#include "foundation/percent_encoding.h"

#include <doctest/doctest.h>

namespace orchid {
namespace {

TEST_CASE("what may stand in a URL stays, every other byte is encoded") {
  CHECK(percent_encode("word-count_2.main@0123abc~").find('%') == std::string::npos);
  CHECK(percent_encode("1 gpu | 4 cores, 2 GiB") == "1%20gpu%20%7C%204%20cores%2C%202%20GiB");
  CHECK(percent_encode("a/b?c&d=e+f#g%h") == "a%2Fb%3Fc%26d%3De%2Bf%23g%25h");
  CHECK(percent_encode("Küche") == "K%C3%BCche");
  CHECK(percent_encode(std::string_view("\0\x7f\xff", 3)) == "%00%7F%FF");
  CHECK(percent_encode("").empty());
}

}  // namespace
}  // namespace orchid
