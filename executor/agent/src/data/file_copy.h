// data/file_copy.h: bytes from one file to another, at the pace of a disk.
#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/running_digest.h"

namespace orchid::executor {

/// A place in a file that is open.
struct FilePlace {
  int file = -1;
  std::uint64_t at = 0;
};

struct FileCopy {
  FilePlace from;
  FilePlace to;
  ByteCount bytes;
  bool flushes = false;             // what is written is for the disk, and not for the cache
  RunningDigest* digest = nullptr;  // of all that is copied; null: nobody asks
};
/// Takes as long as the disk does, and belongs on a thread that nobody waits for. `stop`: looked at
/// every few MiB. Errors: `data_lost`: the file is shorter; `disk_full`, `system`, `cancelled`.
[[nodiscard]] Result<void> copy_file(const FileCopy& from_to, const std::atomic<bool>& stop);

/// Whether this process may write a file of so many bytes. Errors: `disk_full`, `system`.
[[nodiscard]] Result<void> check_file_limit(ByteCount bytes);
/// Of the last system call: `disk_full` or `system`.
[[nodiscard]] Failure file_failure(std::string_view what);

}  // namespace orchid::executor
