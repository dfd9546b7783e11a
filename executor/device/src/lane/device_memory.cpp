#include "lane/device_memory.h"

#include <algorithm>

namespace orchid::executor {
namespace {

constexpr std::uint64_t counted_granule = 256;
/// The driver keeps books for each.
constexpr std::size_t most_pieces = 65536;

}  // namespace

DriverResult<std::uint64_t> DeviceMemory::allocate(std::uint64_t size) {
  if (size == 0)
    return driver_failed(DriverError::refused, "no bytes of device memory were asked for");
  if (size > limit_.value - used_.value)
    return driver_failed(DriverError::out_of_memory,
                         to_string(ByteCount{size}) +
                             " of device memory do not fit: the limit is " + to_string(limit_) +
                             ", and " + to_string(used_) + " are in use");
  if (pieces_.size() >= most_pieces)
    return driver_failed(DriverError::out_of_memory,
                         "there are " + std::to_string(most_pieces) +
                             " pieces of device memory; free some, or ask for larger ones");
  const std::uint64_t counted = std::min(
      (size + counted_granule - 1) / counted_granule * counted_granule, limit_.value - used_.value);
  auto address = driver_.allocate(size);
  if (!address) return address;
  pieces_.emplace(*address, Piece{.bytes = size, .counted = counted});
  used_.value += counted;
  peak_ = std::max(peak_, used_);
  return address;
}

DriverResult<void> DeviceMemory::free(std::uint64_t address) {
  const auto piece = pieces_.find(address);
  if (piece == pieces_.end())
    return driver_failed(DriverError::refused,
                         "this is no address of device memory that was allocated in this call");
  used_.value -= piece->second.counted;
  pieces_.erase(piece);
  return driver_.free(address);
}

DriverResult<void> DeviceMemory::free_all() {
  DriverResult<void> all;
  for (const auto& [address, piece] : pieces_)
    if (auto freed = driver_.free(address); !freed) all = std::move(freed);
  pieces_.clear();
  used_ = {};
  return all;
}

bool DeviceMemory::has(std::uint64_t address, std::uint64_t size) const {
  auto piece = pieces_.upper_bound(address);
  if (piece == pieces_.begin()) return false;
  --piece;
  const std::uint64_t offset = address - piece->first;
  const std::uint64_t bytes = piece->second.bytes;
  return offset <= bytes && size <= bytes - offset;
}

}  // namespace orchid::executor
