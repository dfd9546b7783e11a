// A kernel whose group size is chosen when it is built: orchid build squares.cpp -- -DGROUP=64.
#include "orchid/kernel.hpp"

#ifndef GROUP
#define GROUP 256
#endif

struct SquaresArgs {
  uint64_t first;
  uint64_t* values;
};
ORCHID_GROUP_KERNEL(squares_kernel, SquaresArgs, GROUP) {
  ORCHID_LOCAL(uint64_t, number, GROUP);
  ORCHID_ITEMS { number[local] = args.first + item; }
  ORCHID_ITEMS { args.values[item] = number[local] * number[local]; }
}

#if ORCHID_HOST
#include <numeric>
#include <optional>
#include <vector>

/// The sum of the squares of 4096 numbers.
std::optional<std::uint64_t> squares(orchid::Call& call, std::uint64_t first) {
  std::vector<std::uint64_t> values(4096);
  orchid::DeviceSpan<std::uint64_t> there(call, values.size());
  if (!there || !orchid::launch(call, squares_kernel, values.size(), {first, there.data()}) ||
      !orchid::wait(call) || !there.copy_to(values))
    return std::nullopt;
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}
ORCHID_FUNCTION(squares)
#endif
