// foundation/huge_pages.h: memory for large payloads, in few pages.
#pragma once
#include <cstddef>
#include <vector>

namespace orchid {

/// Reserves `size` bytes. Those of some MiB come in huge pages where the kernel has them for who
/// asks: the first touch of each small page costs a fault, which takes longer than to copy what is
/// written there.
void reserve_in_huge_pages(std::vector<std::byte>& bytes, std::size_t size);

}  // namespace orchid
