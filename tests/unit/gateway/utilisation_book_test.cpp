#include "reports/utilisation_book.h"

#include <doctest/doctest.h>

namespace orchid::gateway {
namespace {

TEST_CASE("the newest samples are kept, and told from a time on") {
  UtilisationBook book(3);
  CHECK(book.since(0).empty());
  for (std::int64_t at = 1; at <= 5; ++at)
    book.add({.at = at * 10, .cores_leased = static_cast<std::uint64_t>(at), .watts = {}});
  const auto all = book.since(0);
  REQUIRE(all.size() == 3);
  CHECK(all.front().at == 30);
  CHECK(all.back().cores_leased == 5);
  REQUIRE(book.since(40).size() == 1);
  CHECK(book.since(40).front().at == 50);
  CHECK(book.since(50).empty());
}

}  // namespace
}  // namespace orchid::gateway
