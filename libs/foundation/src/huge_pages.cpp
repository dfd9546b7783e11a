#include "foundation/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace orchid {
namespace {

constexpr std::uintptr_t huge_page = 2UL << 20;

}  // namespace

void prefer_huge_pages(std::byte* start, std::size_t size) {
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t before = (huge_page - first % huge_page) % huge_page;
  if (size < before + huge_page) return;
  const std::size_t whole = (size - before) / huge_page * huge_page;
  // A kernel that has none says so, and nothing else is different.
  ::madvise(start + before, whole, MADV_HUGEPAGE);
}

void reserve_in_huge_pages(std::vector<std::byte>& bytes, std::size_t size) {
  bytes.reserve(size);
  prefer_huge_pages(bytes.data(), bytes.capacity());
}

}  // namespace orchid
