// foundation/huge_pages.h: memory for large payloads, in few pages.
#pragma once
#include <cstddef>
#include <vector>

namespace orchid {

/// Reserves `size` bytes. Those of some MiB come in huge pages where the kernel has them for who
/// asks: the first touch of each small page costs a fault, which takes longer than to copy what is
/// written there.
void reserve_in_huge_pages(std::vector<std::byte>& bytes, std::size_t size);

/// The same for memory that is mapped already and not touched yet, its own or of a memory file. For
/// a memory file the kernel has huge pages where /sys/kernel/mm/transparent_hugepage/shmem_enabled
/// says `advise` (or `always`; mostly it says `never`), and then for all who map it later.
void prefer_huge_pages(std::byte* start, std::size_t size);

}  // namespace orchid
