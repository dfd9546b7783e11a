// The ready functions with kernels: on cores, in pieces of several sizes, against plain scalar
// code.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fake_host.h"
#include "idw/stations.h"
#include "montecarlo/estimate.h"
#include "montecarlo/philox.h"
#include "orchid/values.h"

extern "C" EntryPoint orchid_entry_idw;
extern "C" EntryPoint orchid_entry_md5search;
extern "C" EntryPoint orchid_entry_montecarlo;

using interpolation::Grid;
using interpolation::Station;

namespace {

using namespace orchid;

/// Whole, in pieces of three groups, and in single groups from the last to the first.
const std::array<FakeDevice, 3> ways{FakeDevice{}, FakeDevice{.grain = 3},
                                     FakeDevice{.grain = 1, .backwards = true}};

template <typename... Value>
CallAnswer call_with(EntryPoint* entry, const FakeDevice& device, const Value&... value) {
  const std::vector<std::byte> bytes = values::encode_all(value...);
  return call_entry(entry, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, {}, device);
}

template <typename Result>
Result result_of(const CallAnswer& answer) {
  REQUIRE_MESSAGE(answer.status == ORCHID_OK, answer.error);
  CHECK(answer.device_bytes == 0);
  std::vector<std::uint64_t> aligned(answer.output.size() / sizeof(std::uint64_t));
  std::memcpy(aligned.data(), answer.output.data(), answer.output.size());
  values::Decoder decoder(std::as_bytes(std::span(aligned)));
  std::tuple<Result> result;
  REQUIRE(values::decode_all(decoder, result));
  return std::get<0>(result);
}

/// The message of the exception that a function refuses its arguments with.
template <typename... Value>
std::string refusal_of(EntryPoint* entry, const Value&... value) {
  try {
    const CallAnswer answer = call_with(entry, {}, value...);
    return "no exception, status " + std::to_string(answer.status);
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::vector<Station> made_stations(std::size_t count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> place(0, 97);
  std::vector<Station> stations(count);
  for (Station& station : stations)
    station = {.x = place(random), .y = place(random), .value = place(random) - 50};
  return stations;
}

/// As the README describes it.
std::vector<float> plain_idw(const Grid& grid, unsigned power, const std::vector<Station>& stations,
                             float least, float scale) {
  std::vector<float> values;
  for (std::uint32_t row = 0; row < grid.rows; ++row) {
    for (std::uint32_t column = 0; column < grid.columns; ++column) {
      const float x = std::fma(grid.step, static_cast<float>(column), grid.left);
      const float y = std::fma(grid.step, static_cast<float>(row), grid.bottom);
      float sum = 0;
      float weights = 0;
      for (const Station& station : stations) {
        const float dx = station.x - x;
        const float dy = station.y - y;
        const float square = scale / std::max(least, std::fma(dx, dx, dy * dy));
        const float fourth = square * square;
        const float weight = power == 2   ? square
                             : power == 4 ? fourth
                             : power == 6 ? square * fourth
                                          : fourth * fourth;
        sum = std::fma(weight, station.value, sum);
        weights += weight;
      }
      values.push_back(sum / weights);
    }
  }
  return values;
}

constexpr Grid small_grid{.left = 0, .bottom = 0, .step = 2.5F, .columns = 41, .rows = 39};
/// The square of the diagonal of all points and stations, as long as these are within the grid.
constexpr double square_of_small_grid = 2.5 * 2.5 * (41 * 41 + 39 * 39);

/// What coreutils says.
std::string md5sum_of(const std::string& text) {
  const std::string path = "md5-" + std::to_string(text.size()) + ".txt";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  std::fclose(file);
  std::FILE* md5sum = ::popen(("md5sum < " + path).c_str(), "r");
  REQUIRE(md5sum != nullptr);
  std::array<char, 33> line{};
  REQUIRE(std::fgets(line.data(), line.size(), md5sum) != nullptr);
  ::pclose(md5sum);
  std::remove(path.c_str());
  return line.data();
}

std::string searched(std::string_view digest, std::string_view alphabet, std::uint32_t length,
                     std::string_view suffix = {}, const FakeDevice& device = {}) {
  return result_of<std::string>(
      call_with(orchid_entry_md5search, device, digest, alphabet, length, suffix));
}

/// The sums of one group, as kernel.h describes them.
std::array<float, 2> plain_sums(std::uint64_t group, std::uint64_t seed) {
  const philox::Key key{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  std::array<std::array<float, 256>, 2> part{};
  for (std::uint32_t local = 0; local < 256; ++local) {
    for (std::uint32_t pair = 0; pair < 64; ++pair) {
      const auto item = static_cast<std::uint32_t>(256 * group + local);
      const philox::Counter one = philox::random_words({{item, 0, pair, 0}}, key);
      const philox::Counter other = philox::random_words({{item, 0, pair, 1}}, key);
      const auto side = [&](int i) {
        return philox::unit_interval(one.words[i]) - philox::unit_interval(other.words[i]);
      };
      const float squared =
          std::fma(side(0), side(0), std::fma(side(1), side(1), side(2) * side(2)));
      part[0][local] += std::sqrt(squared);
      part[1][local] += squared;
    }
  }
  for (std::uint32_t half = 128; half > 0; half /= 2)
    for (std::uint32_t local = 0; local < half; ++local)
      for (auto& sums : part) sums[local] += sums[local + half];
  return {part[0][0], part[1][0]};
}

}  // namespace

TEST_CASE("idw gives the bits of a plain scalar program, in pieces of any size") {
  const std::vector<Station> stations = made_stations(61);
  for (const std::uint32_t power : {2U, 4U, 6U, 8U}) {
    const auto wanted =
        plain_idw(small_grid, power, stations, static_cast<float>(square_of_small_grid * 1e-14),
                  static_cast<float>(square_of_small_grid * 1e-9));
    for (const FakeDevice& way : ways)
      CHECK(result_of<std::vector<float>>(call_with(orchid_entry_idw, way, small_grid, power,
                                                    std::span(stations))) == wanted);
  }
}

TEST_CASE("idw gives a station's value at the station, and one station's value everywhere") {
  const std::vector<Station> stations{{.x = 10, .y = 10, .value = 7},
                                      {.x = 20, .y = 10, .value = 1}};
  const Grid grid{.left = 10, .bottom = 10, .step = 5, .columns = 3, .rows = 1};
  for (const std::uint32_t power : {2U, 4U, 6U, 8U}) {
    const auto found = result_of<std::vector<float>>(
        call_with(orchid_entry_idw, {}, grid, power, std::span(stations)));
    REQUIRE(found.size() == 3);
    CHECK(found[0] == doctest::Approx(7));
    CHECK(found[1] == doctest::Approx(4));
    CHECK(found[2] == doctest::Approx(1));
    const auto alone = result_of<std::vector<float>>(
        call_with(orchid_entry_idw, {}, small_grid, power, std::span(stations).first(1)));
    for (const float value : alone) REQUIRE(value == doctest::Approx(7));
  }
}

TEST_CASE("idw refuses what has no answer, with what it takes") {
  const std::vector<Station> one{{.x = 1, .y = 1, .value = 1}};
  const auto refusal = [&](Grid grid, std::uint32_t power, std::vector<Station> stations) {
    return refusal_of(orchid_entry_idw, grid, power, std::span<const Station>(stations));
  };
  const Grid grid{.left = 0, .bottom = 0, .step = 1, .columns = 2, .rows = 2};
  CHECK(refusal({.left = 0, .bottom = 0, .step = 1, .columns = 0, .rows = 2}, 2, one) ==
        "a grid has 1 to 268435456 points");
  CHECK(refusal({.left = 0, .bottom = 0, .step = 1, .columns = 1U << 31, .rows = 1U << 31}, 2,
                one) == "a grid has 1 to 268435456 points");
  CHECK(refusal({.left = 0, .bottom = 0, .step = 0, .columns = 2, .rows = 2}, 2, one) ==
        "the grid's corner must be finite, and its step above 0");
  CHECK(refusal({.left = 0, .bottom = 0, .step = 1e19F, .columns = 2, .rows = 2}, 2, one) ==
        "grid and stations must extend over 1e-10 to 1e18");
  CHECK(refusal(grid, 3, one) == "the power is 2, 4, 6 or 8");
  CHECK(refusal(grid, 2, {}) == "at least one station is needed");
  for (const Station bad :
       {Station{.x = INFINITY, .y = 0, .value = 0}, Station{.x = 0, .y = NAN, .value = 0},
        Station{.x = 0, .y = 0, .value = 2e15F}})
    CHECK(refusal(grid, 2, {bad}) ==
          "a station's place must be finite, and its value between -1e15 and 1e15");
}

TEST_CASE("md5search finds the strings of RFC 1321's digests") {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
  for (const FakeDevice& way : ways) {
    CHECK(searched("0cc175b9c0f1b6a831c399e269772661", letters, 1, "", way) == "a");
    CHECK(searched("900150983CD24FB0D6963F7D28E17F72", letters, 3, "", way) == "abc");
    CHECK(searched("f96b697d7cb7938d525a2f31aaf161d0", letters, 3, "sage digest", way) ==
          "message digest");
  }
}

TEST_CASE("md5search finds strings of all lengths and alphabets, where md5sum made the digest") {
  std::mt19937 random(5);
  for (const std::string_view alphabet : {"x", "ab", "0123456789", "z\x01 \xff\x80Q"}) {
    // One launch tries up to 8 letters; longer strings need several.
    const std::uint32_t longest = alphabet.size() <= 2 ? 13 : 5;
    for (std::uint32_t length = 1; length <= longest; length += 2) {
      std::string text;
      for (std::uint32_t i = 0; i < length; ++i) text += alphabet[random() % alphabet.size()];
      const std::string suffix(random() % 40, 's');
      CHECK(searched(md5sum_of(text + suffix), alphabet, length, suffix) == text + suffix);
    }
  }
  CHECK(searched(md5sum_of("zz" + std::string(53, '-')), "yz", 2, std::string(53, '-')).size() ==
        55);
}

TEST_CASE("md5search gives an empty string when there is none") {
  CHECK(searched("900150983cd24fb0d6963f7d28e17f72", "abc", 2).empty());
  CHECK(searched("900150983cd24fb0d6963f7d28e17f72", "ab", 11).empty());
}

TEST_CASE("md5search refuses what it cannot search") {
  const auto refusal = [](std::string_view digest, std::string_view alphabet, std::uint32_t length,
                          std::string_view suffix) {
    return refusal_of(orchid_entry_md5search, digest, alphabet, length, suffix);
  };
  const std::string good(32, 'a');
  for (const std::string& bad : {std::string(31, 'a'), std::string(31, 'a') + "g", std::string(),
                                 "0x" + std::string(30, 'a')})
    CHECK(refusal(bad, "ab", 2, "") == "an MD5 has 32 hexadecimal digits");
  CHECK(refusal(good, "", 2, "") == "the alphabet has 1 to 255 letters");
  CHECK(refusal(good, std::string(256, 'a'), 2, "") == "the alphabet has 1 to 255 letters");
  constexpr const char* size =
      "at least one letter is searched for, and with the suffix at most 55 bytes";
  CHECK(refusal(good, "ab", 0, "") == size);
  CHECK(refusal(good, "ab", 3, std::string(53, 's')) == size);
  CHECK(refusal(good, "ab", 1, std::string(90, 's')) == size);
}

TEST_CASE("Philox gives the numbers that its authors publish") {
  // Random123 1.14, kat_vectors: philox4x32 10.
  const auto numbers = [](const philox::Counter& counter, const philox::Key& key) {
    const philox::Counter words = philox::random_words(counter, key);
    return std::vector<std::uint32_t>(std::begin(words.words), std::end(words.words));
  };
  using Words = std::vector<std::uint32_t>;
  CHECK(numbers({{0, 0, 0, 0}}, {{0, 0}}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(numbers({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, {{0xffffffff, 0xffffffff}}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(numbers({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("montecarlo gives the bits of a plain scalar program, in pieces of any size") {
  constexpr std::uint64_t seed = 0x123456789abcdef;
  double distances = 0;
  double squares = 0;
  for (std::uint64_t group = 0; group < 7; ++group) {
    const auto [distance, square] = plain_sums(group, seed);
    distances += distance;
    squares += square;
  }
  const double count = 7 * 16384;
  for (const FakeDevice& way : ways) {
    const auto estimate = result_of<sampling::Estimate>(
        call_with(orchid_entry_montecarlo, way, std::uint64_t{6 * 16384 + 1}, std::uint64_t{seed}));
    CHECK(estimate.pairs == 7 * 16384);
    CHECK(estimate.mean == distances / count);
    const double variance = std::fma(-estimate.mean, estimate.mean, squares / count);
    CHECK(estimate.standard_error == std::sqrt(variance / count));
  }
}

TEST_CASE("montecarlo's estimates lie around the closed form as their standard errors say") {
  // Robbins 1978.
  const double exact = (4 + 17 * std::sqrt(2) - 6 * std::sqrt(3) + 21 * std::log(1 + std::sqrt(2)) +
                        42 * std::log(2 + std::sqrt(3)) - 7 * std::numbers::pi) /
                       105;
  double chi_square = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto estimate = result_of<sampling::Estimate>(
        call_with(orchid_entry_montecarlo, {}, std::uint64_t{100'000}, seed));
    const double error = (estimate.mean - exact) / estimate.standard_error;
    CHECK(std::abs(error) < 4);
    chi_square += error * error;
  }
  // 20 degrees of freedom: outside of this once in a thousand; the seeds are always the same.
  CHECK(chi_square > 5.4);
  CHECK(chi_square < 46.5);
}

TEST_CASE("montecarlo refuses no pairs at all, and more than there is room for") {
  for (const std::uint64_t pairs : {std::uint64_t{0}, std::uint64_t{1} << 41, ~std::uint64_t{0}})
    CHECK(refusal_of(orchid_entry_montecarlo, pairs, std::uint64_t{1}) ==
          "1 to 2^40 pairs of points are needed");
}

TEST_CASE("a device without memory, and one that fails, end the call with the device's words") {
  const std::vector<Station> stations = made_stations(8);
  const auto fails = [&](const FakeDevice& device, std::string_view words) {
    for (const CallAnswer& answer :
         {call_with(orchid_entry_idw, device, small_grid, std::uint32_t{2}, std::span(stations)),
          call_with(orchid_entry_md5search, device, std::string(32, 'a'), std::string("ab"),
                    std::uint32_t{12}, std::string()),
          call_with(orchid_entry_montecarlo, device, std::uint64_t{1}, std::uint64_t{1})}) {
      CHECK(answer.status == ORCHID_ERROR);
      CHECK(answer.error == words);
      CHECK(answer.output.empty());
      CHECK(answer.device_bytes == 0);
    }
  };
  fails({.memory = 7}, "no device memory");
  fails({.launches = 0}, "the device is gone");
  const CallAnswer answer = call_with(orchid_entry_md5search, {.launches = 3}, std::string(32, 'a'),
                                      std::string("ab"), std::uint32_t{12}, std::string());
  CHECK(answer.status == ORCHID_ERROR);
  CHECK(answer.launches == 3);
}
