#include "transport/memory_parts.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "foundation/result.h"

namespace orchid::transport {
namespace {

std::vector<std::pair<MemoryRows, std::uint64_t>> parts_of(const MemoryRows& rows) {
  std::vector<std::pair<MemoryRows, std::uint64_t>> parts;
  const auto all =
      for_each_memory_part(rows, {.of_row = 100, .of_rows = 50},
                           [&](const MemoryRows& part, std::uint64_t at) -> Result<void> {
                             parts.emplace_back(part, at);
                             return {};
                           });
  CHECK(all.has_value());
  return parts;
}

}  // namespace

TEST_CASE("one row goes in pieces, several go together as far as they fit") {
  using Parts = std::vector<std::pair<MemoryRows, std::uint64_t>>;
  CHECK(parts_of({.offset = 7}).empty());
  CHECK(parts_of({.offset = 7, .row = 3, .stride = 5, .count = 0}).empty());
  CHECK(parts_of({.offset = 7, .row = 250}) == Parts{{{.offset = 7, .row = 100}, 0},
                                                     {{.offset = 107, .row = 100}, 100},
                                                     {{.offset = 207, .row = 50}, 200}});
  CHECK(parts_of({.offset = 7, .row = 20, .stride = 1000, .count = 5}) ==
        Parts{{{.offset = 7, .row = 20, .stride = 1000, .count = 2}, 0},
              {{.offset = 2007, .row = 20, .stride = 1000, .count = 2}, 40},
              {{.offset = 4007, .row = 20}, 80}});
  // Rows that are too long to go together.
  CHECK(parts_of({.offset = 7, .row = 120, .stride = 1000, .count = 2}) ==
        Parts{{{.offset = 7, .row = 100}, 0},
              {{.offset = 107, .row = 20}, 100},
              {{.offset = 1007, .row = 100}, 120},
              {{.offset = 1107, .row = 20}, 220}});
}

TEST_CASE("nothing follows a part that has failed") {
  int seen = 0;
  const auto all = for_each_memory_part({.row = 1000}, {.of_row = 100},
                                        [&](const MemoryRows&, std::uint64_t) -> Result<void> {
                                          if (++seen == 3) return fail(ErrorCode::lease_ended, "");
                                          return {};
                                        });
  CHECK(all.error().code == ErrorCode::lease_ended);
  CHECK(seen == 3);
}

}  // namespace orchid::transport
