#include "device_memory_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <span>

namespace fake_cuda {
namespace {

constexpr std::uint64_t granule = 512;  // what a real one aligns to

}  // namespace

bool Arena::reserve(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  base_ = std::bit_cast<std::uint64_t>(memory);
  bytes_ = bytes;
  return true;
}

void Arena::leave(std::uint64_t word) {
  const std::scoped_lock lock(mutex_);
  std::ranges::fill(std::span(std::bit_cast<std::uint64_t*>(base_), bytes_ / sizeof(word)), word);
}

std::optional<std::uint64_t> Arena::allocate(std::uint64_t size) {
  const std::scoped_lock lock(mutex_);
  if (size > bytes_) return std::nullopt;
  const std::uint64_t wanted = (size + granule - 1) / granule * granule;
  std::uint64_t start = base_;
  for (const auto& [address, bytes] : pieces_) {
    if (address - start >= wanted) break;
    start = address + bytes;
  }
  if (wanted > base_ + bytes_ - start) return std::nullopt;
  pieces_.emplace(start, wanted);
  return start;
}

bool Arena::free(std::uint64_t address) {
  const std::scoped_lock lock(mutex_);
  return pieces_.erase(address) == 1;
}

bool Arena::has(std::uint64_t address, std::uint64_t size) {
  const std::scoped_lock lock(mutex_);
  auto piece = pieces_.upper_bound(address);
  if (piece == pieces_.begin()) return false;
  --piece;
  return address + size <= piece->first + piece->second;
}

}  // namespace fake_cuda
