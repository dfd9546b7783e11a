#include "data/room_writer.h"

#include <unistd.h>

#include <cassert>
#include <cerrno>

namespace orchid::gateway {

RoomWriter::~RoomWriter() {
  if (!is_not_) return;
  // Before its executor is told: it takes the room for free then.
  closing_.run([file = std::move(file_), is_not = std::move(is_not_)]() mutable {
    file.reset();
    is_not();
  });
}

Result<void> RoomWriter::take(std::span<const std::byte> bytes) {
  assert(bytes.size() <= size_.value - written_ && "the server keeps to the stated length");
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(written_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("writing into the room of the data object");
    written_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

void RoomWriter::finish() {
  // A sealed file has no writer.
  file_.reset();
  is_not_ = nullptr;
  is_whole_();
}

}  // namespace orchid::gateway
