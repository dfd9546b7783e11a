#include "foundation/huge_pages.h"

#include <doctest/doctest.h>

namespace orchid {

TEST_CASE("reserved memory is there whatever its size, and what was there stays") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{9} << 20}) {
    CAPTURE(size);
    std::vector<std::byte> bytes(3, std::byte{7});
    reserve_in_huge_pages(bytes, size);
    CHECK(bytes.capacity() >= size);
    CHECK(bytes == std::vector<std::byte>(3, std::byte{7}));
    bytes.resize(size);
  }
}

}  // namespace orchid
