// store/spool.h: large payloads and modules as files named by their content's digest.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::gateway {

/// Owned by the store's thread. A file is synced and renamed before anybody may write a row that
/// names it, so a row never names a file that is not there; files without a row are removed by
/// `sweep`.
class Spool {
 public:
  [[nodiscard]] static Result<Spool> open(std::filesystem::path directory);
  /// The content's digest. Errors: `disk_full`, `system`.
  [[nodiscard]] Result<std::string> put(std::span<const std::byte> content);
  /// Errors: `not_found`, `system` (also when the content is not what its name says).
  [[nodiscard]] Result<std::vector<std::byte>> get(std::string_view digest, ByteCount limit) const;
  void remove(std::string_view digest);
  /// Removes the files whose digest `is_used` denies, and what a crash left half written.
  void sweep(const std::function<bool(const std::string& digest)>& is_used);

 private:
  explicit Spool(std::filesystem::path directory) : directory_(std::move(directory)) {}
  [[nodiscard]] std::filesystem::path path_of(std::string_view digest) const;
  std::filesystem::path directory_;
};

}  // namespace orchid::gateway
