#include "lane/sub_range_size.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

using namespace orchid::executor;
using std::chrono::nanoseconds;

namespace {

/// The pieces into which a launch is cut when `time` tells how long items [begin, end) take.
std::vector<std::uint64_t> cut(
    SubRangeSize& size, std::uint64_t items,
    const std::function<nanoseconds(std::uint64_t, std::uint64_t)>& time) {
  std::vector<std::uint64_t> pieces;
  for (std::uint64_t begin = 0; begin < items;) {
    const std::uint64_t piece = size.next(items - begin);
    REQUIRE(piece > 0);
    REQUIRE(piece <= items - begin);
    size.measured(piece, time(begin, begin + piece));
    begin += piece;
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace

TEST_CASE("equal items are cut into pieces of 1 to 20 ms once their time is known") {
  for (const std::int64_t per_item : {1, 50, 1000, 30'000, 1'000'000}) {
    CAPTURE(per_item);
    SubRangeSize size(256, 64);
    const auto time = [per_item](std::uint64_t begin, std::uint64_t end) {
      return nanoseconds(per_item * static_cast<std::int64_t>(end - begin));
    };
    const std::uint64_t items = 2'000'000'000 / static_cast<std::uint64_t>(per_item);
    cut(size, items, time);  // learns
    const auto pieces = cut(size, items, time);
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      const auto took = nanoseconds(per_item * static_cast<std::int64_t>(pieces[i]));
      // One granule is the least, however long it takes.
      CHECK((took <= longest_sub_range || pieces[i] == 64));
      CHECK(took >= std::chrono::milliseconds(1));
      CHECK(pieces[i] % 64 == 0);
    }
  }
}

TEST_CASE("the first piece fills the device once, and the next ones grow step by step") {
  SubRangeSize size(1000, 64);
  CHECK_FALSE(size.is_known());
  CHECK(size.next(1'000'000) == 960);
  CHECK(size.next(10) == 10);
  size.measured(960, nanoseconds(960));
  CHECK(size.is_known());
  CHECK(size.next(1'000'000) <= 8 * 960);
  CHECK(size.next(1'000'000) > 960);
  CHECK(size.next(7) == 7);
}

TEST_CASE("items that become slow make pieces small at once") {
  SubRangeSize size(64, 64);
  for (int i = 0; i < 20; ++i) size.measured(size.next(1'000'000'000), nanoseconds(1000));
  size.measured(64, std::chrono::milliseconds(64));  // 1 ms each
  CHECK(size.expected(size.next(1'000'000'000)) <= longest_sub_range * 4);
  CHECK(size.next(1'000'000'000) == 64);
  // And fast ones only bit by bit.
  size.measured(64, nanoseconds(64));
  CHECK(size.next(1'000'000'000) <= 64);
}

TEST_CASE("a piece of no time or no items does not upset it") {
  SubRangeSize size(0, 0);
  CHECK(size.next(5) == 1);
  size.measured(0, nanoseconds(100));
  CHECK_FALSE(size.is_known());
  size.measured(1, nanoseconds(0));
  CHECK(size.next(100) >= 1);
  CHECK(size.next(100) <= 100);
}

TEST_CASE("a launch that fits is one piece, also when its items are no multiple of the granule") {
  SubRangeSize size(1024, 256);
  const auto time = [](std::uint64_t, std::uint64_t) { return std::chrono::microseconds(100); };
  cut(size, 8 * 1024 + 17, time);  // learns
  CHECK(cut(size, 8 * 1024 + 17, time) == std::vector<std::uint64_t>{8 * 1024 + 17});
}

TEST_CASE("a few items say little about many: they take as long as what fills the device") {
  SubRangeSize size(1024, 256);
  size.measured(8 * 1024, std::chrono::microseconds(100));
  size.measured(16, std::chrono::microseconds(20));
  CHECK(size.next(8 * 1024) == 8 * 1024);
}
