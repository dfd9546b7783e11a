// A function that lasts, so that something can be made ready meanwhile.
#include <chrono>
#include <cstdint>

#include "orchid/function.hpp"

std::uint64_t waits(std::uint64_t seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
  return seconds;
}
ORCHID_FUNCTION(waits)
