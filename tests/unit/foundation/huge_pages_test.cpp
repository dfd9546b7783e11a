#include "foundation/huge_pages.h"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace orchid {
namespace {

/// What /proc/self/smaps says of the mapping with this byte: "rd wr mr mw me ac hg".
std::string flags_of(const std::byte* byte) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(byte);
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  bool is_there = false;
  while (std::getline(smaps, line)) {
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    char dash = '\0';
    std::istringstream words(line);
    if (words >> std::hex >> first >> dash >> end && dash == '-')
      is_there = first <= wanted && wanted < end;
    else if (is_there && line.starts_with("VmFlags:"))
      return line;
  }
  return {};
}

}  // namespace

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

TEST_CASE("whole huge pages of a mapping are asked for, and nothing beside them") {
  constexpr std::size_t huge = 2 << 20;
  constexpr std::size_t size = 6 * huge;
  void* const mapped =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  auto* const aligned = static_cast<std::byte*>(mapped) + (huge - start % huge) % huge;
  prefer_huge_pages(aligned + 1, huge - 1);  // has none
  CHECK_FALSE(flags_of(aligned + 1).contains(" hg"));
  prefer_huge_pages(aligned + 1, 3 * huge);
  CHECK_FALSE(flags_of(aligned).contains(" hg"));
  if (std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    CHECK(flags_of(aligned + huge).contains(" hg"));
  CHECK_FALSE(flags_of(aligned + 3 * huge).contains(" hg"));
  aligned[huge] = std::byte{1};
  ::munmap(mapped, size);
}

}  // namespace orchid
