#include "foundation/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace orchid {
namespace {

constexpr std::uintptr_t huge_page = 2UL << 20;

}  // namespace

void reserve_in_huge_pages(std::vector<std::byte>& bytes, std::size_t size) {
  bytes.reserve(size);
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t begin = (first + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t end = (first + bytes.capacity()) / huge_page * huge_page;
  // A kernel that has none says so, and nothing else is different.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace orchid
