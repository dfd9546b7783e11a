// worker/mapping_list.h: /proc/self/maps, line by line.
#pragma once
#include <cstdint>
#include <string_view>

namespace orchid::executor {

/// One mapping; the texts point into its line.
struct MappingLine {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::string_view protection;  // "r--p"
  std::uint64_t offset = 0;     // in the file
  std::uint64_t inode = 0;      // of the file; 0: none
  std::string_view file;        // "": none
};

/// "7f10-7f20 r--p 00000000 00:01 12345   /memfd:orchid-data (deleted)". A line that is none has
/// an end of 0.
[[nodiscard]] MappingLine parse_mapping(std::string_view line);

}  // namespace orchid::executor
