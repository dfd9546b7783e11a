// The bytes of an object, or of the room for one, in this process.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::executor {

/// A shared, writable mapping of a room; unmapped at the end of its life.
class RoomMemory {
 public:
  /// `fd`: a memory file of this size, which nobody can shorten. Errors: `bad_request` (it is
  /// none), `system`.
  [[nodiscard]] static Result<RoomMemory> map(int fd, ByteCount bytes);
  RoomMemory(RoomMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  RoomMemory& operator=(RoomMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  RoomMemory(const RoomMemory&) = delete;
  RoomMemory& operator=(const RoomMemory&) = delete;
  ~RoomMemory();
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit RoomMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace orchid::executor
