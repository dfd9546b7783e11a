// crew/in_place.h: what the source's part of in_place_functions.cpp is given.
#pragma once
#include <cstdint>

namespace in_place {

struct Multiples {
  std::uint64_t count = 0;
  std::uint64_t factor = 1;
};

}  // namespace in_place
