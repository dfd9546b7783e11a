// crew/shared_rings.h: the memory that a test, as its crew's client, shares with the members.
#pragma once
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "protocol/crew.h"
#include "transport/crew_memory.h"

namespace orchid::tests {

/// Where this process has mapped what the client and that member of a crew share.
inline std::byte* shared_with(std::uint32_t member, std::uint32_t members) {
  const transport::CrewLayout layout{members};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::size_t offset = 0;
    char dash = 0;
    std::string rights;
    fields >> std::hex >> begin >> dash >> end >> rights >> offset;
    if (rights == "rw-s" && end - begin == transport::CrewLayout::pair_bytes &&
        offset == layout.pair_offset(crew::client_member, member))
      return reinterpret_cast<std::byte*>(begin);
  }
  return nullptr;
}

}  // namespace orchid::tests
