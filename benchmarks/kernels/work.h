// benchmarks/kernels/work.h: what Orchid and its rivals compute: each makes the same input itself,
// and says what came out.
#pragma once
#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "idw/stations.h"

namespace orchid::bench::work {

// Inverse distance weighting: 2^29 pairs of a point and a station.
inline constexpr interpolation::Grid grid{
    .left = 0, .bottom = 0, .step = 1, .columns = 512, .rows = 512};
inline constexpr std::uint32_t points = 512 * 512;
inline constexpr std::uint32_t power = 2;
inline std::vector<interpolation::Station> stations() {
  std::mt19937 random(1);
  const auto number = [&] { return static_cast<float>(random() >> 8) * 0x1p-24F; };
  std::vector<interpolation::Station> all(2048);
  for (interpolation::Station& station : all)
    station = {.x = 512 * number(), .y = 512 * number(), .value = number()};
  return all;
}
// As the function idw computes them for this grid.
inline constexpr float least = 2 * 512.0F * 512.0F * 1e-14F;
inline constexpr float scale = 2 * 512.0F * 512.0F * 1e-9F;

// MD5 of all strings of five of these letters. The one that is searched for is the last.
inline constexpr std::string_view alphabet = "abcdefghijklmnopqrst";
inline constexpr std::uint32_t string_length = 5;
inline constexpr std::uint32_t strings_of_item = 20;
inline constexpr std::uint32_t string_items = 20 * 20 * 20 * 20;
inline constexpr std::string_view last_string = "ttttt";
inline constexpr std::string_view last_digest = "6cee4618fc4960d184eb7efbd0aa27b5";
inline constexpr std::array<std::uint32_t, 4> last_digest_words{0x1846ee6c, 0xd16049fc, 0xfb7eeb84,
                                                                0xb527aad0};

// n-body: 2^28 pairs.
inline constexpr std::uint32_t body_count = 16384;
inline constexpr float softening = 1e-4F;
/// x, y, z and mass of each.
inline std::vector<float> bodies() {
  std::mt19937 random(2);
  std::vector<float> all(4UL * body_count);
  for (float& number : all) number = static_cast<float>(random() >> 8) * 0x1p-24F;
  return all;
}

}  // namespace orchid::bench::work
