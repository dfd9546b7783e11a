// foundation/files.h: whole files, sealed memory files, and directories that belong to one user.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"

namespace orchid {

/// Errors: `not_found`, `too_large` (over `limit`), `system`.
[[nodiscard]] Result<std::vector<std::byte>> read_file(const std::filesystem::path& path,
                                                       ByteCount limit);
/// Writes beside `path`, syncs and renames, so that a crash of the machine leaves the old file or
/// the new one. Errors: `disk_full`, `system`.
[[nodiscard]] Result<void> write_file_atomically(const std::filesystem::path& path,
                                                 std::span<const std::byte> content,
                                                 unsigned mode = 0600);
/// The same without waiting for the disk: a crash of the machine may leave a damaged file. For
/// caches that check what they read.
[[nodiscard]] Result<void> write_cache_file(const std::filesystem::path& path,
                                            std::span<const std::byte> content);
/// Makes `path` (mode 0700) if needed; refuses one that another user owns or others may write to.
[[nodiscard]] Result<void> make_private_directory(const std::filesystem::path& path);

/// A memory file with `content` that nobody can change any more (all seals); close-on-exec.
[[nodiscard]] Result<UniqueFd> make_sealed_memory(std::string_view name,
                                                  std::span<const std::byte> content);

/// Takes the numbers of stdin, stdout and stderr where they are closed, so that no file or socket
/// of ours gets them; reading and writing there fails as before. The first thing in a program.
void occupy_standard_descriptors();

/// A read-only private mapping of a whole file; unmapped at the end of its life.
class MappedFile {
 public:
  /// Maps `fd`, which must be a memory file with all seals (so that its writer cannot change it
  /// under the reader) when `require_seals` is set. Errors: `bad_request` (not sealed),
  /// `too_large`, `system`.
  struct Options {
    ByteCount limit;
    bool require_seals = true;
  };
  [[nodiscard]] static Result<MappedFile> map(int fd, Options options);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace orchid
