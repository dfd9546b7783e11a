// data/spill_file.h: the bytes of one sealed object in a file of the scratch directory, while they
// are not in memory.
#pragma once
#include <atomic>
#include <filesystem>
#include <utility>

#include "data/memory_file.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"

namespace orchid::executor {

/// It has no name in its directory: nothing of it is left when the process ends, however it ends.
/// Moved, never copied. All functions take as long as the disk does, and belong on a thread that
/// nobody waits for.
class SpillFile {
 public:
  /// A sealed object's bytes, which are on the disk and not in the kernel's cache only when it
  /// returns. `stop`: looked at every few MiB. Errors: `disk_full`, `system`; `cancelled`.
  /// Nothing is left of the file then.
  [[nodiscard]] static Result<SpillFile> write(const std::filesystem::path& directory,
                                               const MemoryFile& object, ByteCount bytes,
                                               const std::atomic<bool>& stop);
  /// A sealed memory file with the same bytes. Errors: `data_lost`: the file is shorter than it
  /// was; `system`, `cancelled`.
  [[nodiscard]] Result<MemoryFile> read(ByteCount bytes, const std::atomic<bool>& stop) const;
  /// Whether files can be made there. Errors: `disk_full`, `system`.
  [[nodiscard]] static Result<void> check(const std::filesystem::path& directory);

 private:
  explicit SpillFile(UniqueFd file) : file_(std::move(file)) {}
  [[nodiscard]] static Result<SpillFile> make(const std::filesystem::path& directory);
  UniqueFd file_;
};

}  // namespace orchid::executor
