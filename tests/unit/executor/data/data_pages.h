// data_pages.h: what data objects really take, whatever the books say.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

namespace orchid::executor {

/// The bytes of all memory files of objects that this process has open; each counts once.
inline std::uint64_t pages_held() {
  constexpr std::uint64_t block = 512;  // of st_blocks, whatever the file system
  std::set<ino_t> seen;
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // another thread may close one meanwhile
    const std::string file = std::filesystem::read_symlink(entry.path(), gone).string();
    struct stat status{};
    if (file.starts_with("/memfd:orchid-data") && ::stat(entry.path().c_str(), &status) == 0 &&
        seen.insert(status.st_ino).second)
      bytes += static_cast<std::uint64_t>(status.st_blocks) * block;
  }
  return bytes;
}

}  // namespace orchid::executor
