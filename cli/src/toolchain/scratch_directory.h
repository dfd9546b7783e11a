// toolchain/scratch_directory.h: a private place for intermediate files.
#pragma once
#include <filesystem>
#include <utility>

#include "foundation/result.h"

namespace orchid::cli {

/// Sole owner of a fresh directory; removed with all that is in it at the end.
class ScratchDirectory {
 public:
  /// In $TMPDIR or /tmp. Errors: `system`.
  [[nodiscard]] static Result<ScratchDirectory> make();
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace orchid::cli
