// lane/device_memory.h: the device memory of one lane: which pieces there are, and how much more
// there may be.
#pragma once
#include <cstdint>
#include <map>

#include "driver/driver.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Owned by the device process's thread. Its end frees nothing: `free_all` does, while the queue is
/// empty.
class DeviceMemory {
 public:
  DeviceMemory(Driver& driver, ByteCount limit) : driver_(driver), limit_(limit) {}

  /// The address of `size` bytes. Errors: `out_of_memory`, of the limit or of the device.
  [[nodiscard]] DriverResult<std::uint64_t> allocate(std::uint64_t size);
  /// `address` as `allocate` told it. Errors: `refused`.
  [[nodiscard]] DriverResult<void> free(std::uint64_t address);
  [[nodiscard]] DriverResult<void> free_all();
  /// Whether all of these bytes belong to one piece.
  [[nodiscard]] bool has(std::uint64_t address, std::uint64_t size) const;

  [[nodiscard]] ByteCount used() const { return used_; }
  [[nodiscard]] ByteCount peak() const { return peak_; }

 private:
  struct Piece {
    std::uint64_t bytes = 0;    // as the driver was asked for
    std::uint64_t counted = 0;  // against the limit
  };

  Driver& driver_;
  ByteCount limit_;
  ByteCount used_;
  ByteCount peak_;
  std::map<std::uint64_t, Piece> pieces_;  // by address
};

}  // namespace orchid::executor
