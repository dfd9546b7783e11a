// data/room_writer.h: a request's body on its way into the memory file of a room.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "foundation/background_thread.h"
#include "foundation/task.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "http/body.h"

namespace orchid::gateway {

/// Writes what comes straight into the file, which is never mapped here. Belongs to an HTTP thread.
class RoomWriter final : public BodySink {
 public:
  /// `is_whole`: all bytes are in the file; `is_not`: they will never be. One of them is called,
  /// once. `closing`: where the file of a room that was given up is closed: that may take long.
  RoomWriter(UniqueFd file, ByteCount size, Task is_whole, Task is_not, BackgroundThread& closing)
      : file_(std::move(file)),
        size_(size),
        is_whole_(std::move(is_whole)),
        is_not_(std::move(is_not)),
        closing_(closing) {}
  RoomWriter(const RoomWriter&) = delete;
  RoomWriter& operator=(const RoomWriter&) = delete;
  ~RoomWriter() override;

  [[nodiscard]] Result<void> take(std::span<const std::byte> bytes) override;
  void finish() override;

 private:
  UniqueFd file_;
  ByteCount size_;
  Task is_whole_;
  Task is_not_;  // null: it is whole
  BackgroundThread& closing_;
  std::uint64_t written_ = 0;
};

}  // namespace orchid::gateway
