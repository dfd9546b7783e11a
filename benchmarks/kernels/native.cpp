// benchmarks/kernels/native.cpp: the same kernels as a plain program with OpenMP: kernels-native
// KERNEL ROUNDS prints what came out, and then the time of each round in nanoseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "idw/kernel.h"
#include "md5search/kernel.h"
#include "nbody.h"
#include "work.h"

namespace {

namespace work = orchid::bench::work;

constexpr std::uint64_t groups_of_piece = 4;

template <typename Args>
void run_on_all_cores(const orchid::Kernel<Args>& kernel, const Args& args, std::uint64_t items) {
  const std::uint64_t size = groups_of_piece * kernel.group_size;
  const auto pieces = static_cast<std::int64_t>((items + size - 1) / size);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::uint64_t begin = static_cast<std::uint64_t>(piece) * size;
    kernel.run(&args, begin, std::min(items, begin + size));
  }
}

/// Runs once to get warm, and then `rounds` times.
void measure(long rounds, const std::function<void()>& run, const std::function<double()>& check) {
  run();
  std::printf("%.9g\n", check());
  for (long round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const auto end = std::chrono::steady_clock::now();
    std::printf("%lld\n", static_cast<long long>(std::chrono::nanoseconds(end - start).count()));
  }
}

void measure_idw(long rounds) {
  const auto stations = work::stations();
  std::vector<float> values(work::points);
  const interpolation::Args args{.grid = work::grid,
                                 .power = work::power,
                                 .stations = stations.data(),
                                 .station_count = stations.size(),
                                 .least = work::least,
                                 .scale = work::scale,
                                 .values = values.data()};
  measure(
      rounds, [&] { run_on_all_cores(idw_grid, args, work::points); },
      [&] { return std::accumulate(values.begin(), values.end(), 0.0); });
}

void measure_md5(long rounds) {
  std::vector<std::uint32_t> alphabet(work::alphabet.begin(), work::alphabet.end());
  std::vector<std::uint8_t> found(work::string_items);
  const auto& digest = work::last_digest_words;
  search::Args args{.message = {},
                    .digest = {.a = digest[0], .b = digest[1], .c = digest[2], .d = digest[3]},
                    .alphabet = alphabet.data(),
                    .letter_count = work::strings_of_item,
                    .item_letters = work::string_length - 1,
                    .reciprocal = (std::uint64_t{1} << 32) / work::strings_of_item + 1,
                    .found = found.data()};
  args.message[work::string_length / 4] = 0x80U << (8 * (work::string_length % 4));
  args.message[14] = 8 * work::string_length;
  measure(
      rounds, [&] { run_on_all_cores(md5_match, args, work::string_items); },
      [&] { return std::accumulate(found.begin(), found.end(), 0.0); });
}

void measure_nbody(long rounds) {
  const auto numbers = work::bodies();
  std::vector<nbody::Body> bodies(work::body_count);
  std::memcpy(bodies.data(), numbers.data(), numbers.size() * sizeof(float));
  std::vector<nbody::Acceleration> accelerations(work::body_count);
  const nbody::Args args{.bodies = {.pointer = bodies.data(), .count = bodies.size()},
                         .softening = work::softening,
                         .accelerations = accelerations.data()};
  measure(
      rounds, [&] { run_on_all_cores(nbody_step, args, work::body_count); },
      [&] {
        double sum = 0;
        for (const nbody::Acceleration& one : accelerations) sum += std::abs(one.x);
        return sum;
      });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kernel = argc == 3 ? argv[1] : "";
  const long rounds = argc == 3 ? std::strtol(argv[2], nullptr, 10) : 0;
  if (kernel == "idw")
    measure_idw(rounds);
  else if (kernel == "md5")
    measure_md5(rounds);
  else if (kernel == "nbody")
    measure_nbody(rounds);
  else {
    std::fprintf(stderr, "usage: kernels-native idw|md5|nbody ROUNDS\n");
    return 2;
  }
}
