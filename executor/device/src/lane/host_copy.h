// lane/host_copy.h: bytes on their way between a worker's slab and the device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/driver.h"
#include "lane/pinned_ranges.h"

namespace orchid::executor {

/// Host memory of our own, registered with the driver where that works, and the mark behind a copy.
/// One copy uses it at a time.
class CopyResources {
 public:
  [[nodiscard]] static DriverResult<CopyResources> make(Driver& driver);
  [[nodiscard]] std::span<std::byte> staging() { return staging_; }
  [[nodiscard]] MarkHandle mark() const { return mark_; }

 private:
  CopyResources(std::vector<std::byte> staging, MarkHandle mark)
      : staging_(std::move(staging)), mark_(mark) {}
  std::vector<std::byte> staging_;
  MarkHandle mark_;
};

/// One write or read. Owned by the device process's thread.
class HostCopy {
 public:
  enum class Direction : std::uint8_t { to_device, to_host };
  struct Job {
    Direction direction = Direction::to_device;
    std::uint64_t address = 0;
    std::span<std::byte> host;
    PinnedRanges* ranges = nullptr;  // of the slab in which `host` lies; null: it is not registered
    std::uint64_t offset = 0;        // of `host` in that slab
  };
  HostCopy(Driver& driver, CopyResources& resources, const Job& job)
      : driver_(driver), resources_(resources), job_(job) {}

  /// Goes on with it; true: done. After `stop` it ends with the piece that is under way.
  [[nodiscard]] DriverResult<bool> advance();
  void stop() { job_.host = job_.host.first(done_ + piece_); }

 private:
  [[nodiscard]] DriverResult<bool> piece_ended();
  [[nodiscard]] DriverResult<void> begin_piece();

  Driver& driver_;
  CopyResources& resources_;
  Job job_;
  std::size_t done_ = 0;   // bytes
  std::size_t piece_ = 0;  // bytes that are under way
  bool staged_ = false;    // in the staging buffer
};

}  // namespace orchid::executor
