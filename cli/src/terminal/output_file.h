// terminal/output_file.h: where a large output goes piece by piece.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {

/// A regular file is written beside its place and takes it as a whole, or not at all; what is not
/// one, such as /dev/null or standard output, is written to at once.
class OutputFile {
 public:
  /// `path` "-": standard output. Errors: `system`.
  [[nodiscard]] static Result<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Without `finish` before it nothing is left.
  ~OutputFile();

  /// Errors: `disk_full`, `system`.
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> finish();

 private:
  OutputFile(UniqueFd file, std::string path, std::string beside)
      : file_(std::move(file)), path_(std::move(path)), beside_(std::move(beside)) {}
  UniqueFd file_;
  std::string path_;
  std::string beside_;  // what is written until it takes its place; empty: nothing
};

}  // namespace orchid::cli
