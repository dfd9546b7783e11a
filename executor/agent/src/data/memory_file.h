// data/memory_file.h: the memory file of one data object: first a room that one writer fills, then
// sealed for ever.
#pragma once
#include <utility>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Moved, never copied: who has it has the object's bytes.
class MemoryFile {
 public:
  /// All zeros. Its size cannot change from here on. Pages are taken when they are first written
  /// to. Errors: `system`.
  [[nodiscard]] static Result<MemoryFile> make(ByteCount bytes);

  /// For the writer of a room: it can write the file, and map it shared. Errors: `system`.
  [[nodiscard]] Result<UniqueFd> open_to_write() const;
  /// The same file once more. Errors: `system`.
  [[nodiscard]] Result<MemoryFile> duplicate() const;
  /// Nobody can change the bytes from now on. Again: nothing happens. The kernel looks at all pages
  /// meanwhile. Errors: `conflict`: a writer still has it mapped; `system`.
  [[nodiscard]] Result<void> seal();
  /// For a reader of a sealed file: its own place in it, and no right to write. Errors: `system`.
  [[nodiscard]] Result<UniqueFd> open_to_read() const;

 private:
  explicit MemoryFile(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace orchid::executor
