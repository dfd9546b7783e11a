// code/code_store.h: compiled code of one tenant on this host's disk; bounded, oldest use
// goes first.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "code/code_key.h"
#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Owned by the agent's thread. Two executors may share one directory. Entries are
/// written without waiting for the disk and carry a checksum: one that a crash has damaged is none.
class CodeStore {
 public:
  static constexpr ByteCount largest_code = 1_GiB;  // of one module

  struct Options {
    std::filesystem::path directory;
    ByteCount capacity = 1_GiB;
  };
  /// Makes the directory if needed. Errors: `denied`, `system`.
  [[nodiscard]] static Result<CodeStore> open(Options options);
  /// The code for `key`, or `not_found`. An entry whose stored key or checksum differs is removed
  /// and reported as `not_found`.
  [[nodiscard]] Result<std::vector<std::byte>> find(const CodeKey& key);
  /// Errors: `disk_full`, `too_large`; the store is unchanged then.
  [[nodiscard]] Result<void> insert(const CodeKey& key, std::span<const std::byte> code);

 private:
  explicit CodeStore(Options options) : options_(std::move(options)) {}
  [[nodiscard]] std::filesystem::path path_of(const CodeKey& key) const;
  /// Looks at all files, and removes those that were used longest ago until `needed` fits.
  void make_room(ByteCount needed = {});
  Options options_;
  std::uintmax_t used_ = 0;  // as far as we know: another executor may write here too
};

}  // namespace orchid::executor
