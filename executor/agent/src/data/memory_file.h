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
  /// The same for a function, which may do with it what it likes: it can get smaller until
  /// `fix_size`, so that its pages are given back whoever has it open.
  [[nodiscard]] static Result<MemoryFile> make_for_call(ByteCount bytes);

  /// For the writer of a room: it can write the file, and map it shared. Errors: `system`.
  [[nodiscard]] Result<UniqueFd> open_to_write() const;
  /// The same file once more. Errors: `system`.
  [[nodiscard]] Result<MemoryFile> duplicate() const;
  /// Nobody can change the bytes from now on. Again: nothing happens. The kernel looks at all pages
  /// meanwhile. Errors: `conflict`: a writer still has it mapped; `system`.
  [[nodiscard]] Result<void> seal();
  /// The same for one that was made for a call, cut to `size` first, which is not more than it has.
  /// The kernel says that the writer has let go of it, as `check_alone` does. Errors: `conflict`:
  /// the writer has it open or mapped, in whatever way; `system`.
  [[nodiscard]] Result<void> seal_for_call(ByteCount size);
  /// From now on it cannot get smaller either: before anybody else has it. Errors: `conflict`: it
  /// has another size than that; `system`.
  [[nodiscard]] Result<void> fix_size(ByteCount size);
  /// Its pages are given back, also those that somebody has mapped, if it may still get smaller.
  void empty();
  /// Nobody else has it open or mapped; duplicates are no other opening. The kernel says so without
  /// a look at its pages. It does not see descriptors opened with O_PATH, which keep the pages, and
  /// can be opened again. So this is for the books: who may change a file is for its seals to say.
  /// Errors: `conflict`: somebody has; `system`.
  [[nodiscard]] Result<void> check_alone() const;
  /// For a reader of a sealed file: its own place in it, and no right to write. Errors: `system`.
  [[nodiscard]] Result<UniqueFd> open_to_read() const;

 private:
  explicit MemoryFile(UniqueFd file) : file_(std::move(file)) {}
  [[nodiscard]] static Result<MemoryFile> make(ByteCount bytes, int seals);
  [[nodiscard]] Result<UniqueFd> open_again(int flags) const;
  UniqueFd file_;
};

}  // namespace orchid::executor
