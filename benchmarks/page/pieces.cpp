// What a flow calls that changes a thousand times a second: its pieces wait, and leave the cores to
// the browser.
#include <time.h>

#include <cstdint>
#include <vector>

#include "orchid/function.hpp"

std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 1; i <= count; ++i) all.push_back(i);
  return all;
}
ORCHID_FUNCTION(up_to)

/// On two workers more than a thousand of them end in a second.
std::uint64_t waits(std::uint64_t number) {
  const timespec pause{.tv_sec = 0, .tv_nsec = 1'700'000};
  nanosleep(&pause, nullptr);
  return number;
}
ORCHID_FUNCTION(waits)

std::uint64_t count(const std::vector<std::uint64_t>& numbers) { return numbers.size(); }
ORCHID_FUNCTION(count)
