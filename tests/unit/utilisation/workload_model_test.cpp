#include "utilisation/workload_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

using namespace orchid::utilisation;
using doctest::Approx;

constexpr int draws = 200'000;
constexpr std::uint32_t published_size = 128;

TEST_CASE("the gamma distribution's lower part is that of tables") {
  CHECK(gamma_below(1, 1) == Approx(1 - std::exp(-1)).epsilon(1e-10));
  CHECK(gamma_below(8, 8) == Approx(0.5470392).epsilon(1e-6));
  CHECK(gamma_below(0.5, 2) == Approx(std::erf(std::sqrt(2))).epsilon(1e-10));
  CHECK(gamma_below(3, 0) == 0);
}

TEST_CASE("sizes have the published parts: serial, powers of two, two uniform stages") {
  LublinModel model({}, published_size, 1);
  int serial = 0;
  int power_of_two = 0;
  int over_medium = 0;
  double logarithms = 0;
  int parallel = 0;
  for (int i = 0; i < draws; ++i) {
    const std::uint32_t size = model.processors();
    REQUIRE(size >= 1);
    REQUIRE(size <= published_size);
    if (size == 1) {
      ++serial;
      continue;
    }
    ++parallel;
    logarithms += std::log2(size);
    if (std::has_single_bit(size)) ++power_of_two;
    if (size > 32) ++over_medium;
  }
  // All serial jobs are drawn as such: the smallest parallel one is 2^0.8, rounded to 2.
  CHECK(serial / double(draws) == Approx(0.244).epsilon(0.02));
  // Some of the others are powers of two by chance.
  CHECK(power_of_two / double(draws) > 0.576);
  CHECK(power_of_two / double(draws) < 0.64);
  const double mean = 0.86 * (0.8 + 4.5) / 2 + 0.14 * (4.5 + 7) / 2;
  CHECK(logarithms / parallel == Approx(mean).epsilon(0.02));
  CHECK(over_medium / double(parallel) == Approx(0.14).epsilon(0.15));
}

TEST_CASE("run times are the published mixture, which depends on the size") {
  LublinModel model({}, published_size, 2);
  const auto moments = [&](std::uint32_t size) {
    double sum = 0;
    int long_ones = 0;
    for (int i = 0; i < draws; ++i) {
      const double logarithm = std::log(model.runtime_seconds(size));
      REQUIRE(logarithm <= 12);
      sum += logarithm;
      if (logarithm > 8.2) ++long_ones;
    }
    return std::pair(sum / draws, long_ones / double(draws));
  };
  // Means of the two: 4.2 * 0.94 = 3.948 and 312 * 0.03 = 9.36; p = 0.78 - 0.0054 * size.
  const auto [serial, serial_long] = moments(1);
  CHECK(serial == Approx(0.7746 * 3.948 + 0.2254 * 9.36).epsilon(0.01));
  CHECK(serial_long == Approx(0.2254 + 0.7746 * 0.035).epsilon(0.05));
  const auto [large, large_long] = moments(128);
  CHECK(large == Approx(0.0888 * 3.948 + 0.9112 * 9.36).epsilon(0.01));
  CHECK(large_long > 0.9);
}

TEST_CASE("the time between submissions has the published mean of its logarithm") {
  LublinModel model({}, published_size, 3);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double logarithm = std::log(model.gap_seconds());
    sum += logarithm;
    squares += logarithm * logarithm;
  }
  const double mean = sum / draws;
  CHECK(mean == Approx(10.2303 * 1.0225 * 0.4871).epsilon(0.005));
  CHECK(squares / draws - mean * mean == Approx(10.2303 * 1.0225 * 0.4871 * 0.4871).epsilon(0.02));
}

TEST_CASE("the day's cycle peaks in the afternoon, is low before dawn, and has a mean of 1") {
  const auto rates = daily_rates({});
  REQUIRE(rates.size() == 48);
  CHECK(std::accumulate(rates.begin(), rates.end(), 0.0) / 48 == Approx(1));
  const auto peak = std::ranges::max_element(rates) - rates.begin();
  CHECK(peak >= 24);
  CHECK(peak <= 32);
  CHECK(rates[static_cast<std::size_t>(peak)] > 1.5);
  CHECK(*std::ranges::min_element(rates) < 0.2);
  CHECK(std::ranges::min_element(rates) - rates.begin() < 14);
}

TEST_CASE("a generated trace has the load and the length that were asked for, by its seed") {
  const WorkloadOptions options{
      .cores = 1024, .load = 0.9, .span = std::chrono::hours(24 * 28), .seed = 5};
  const Trace trace = generate(options);
  CHECK(trace.jobs == generate(options).jobs);
  WorkloadOptions other = options;
  other.seed = 6;
  CHECK(trace.jobs != generate(other).jobs);
  double work = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    CHECK(job.id == i + 1);
    CHECK((i == 0 || job.submitted >= trace.jobs[i - 1].submitted));
    CHECK(job.limit >= job.runtime);
    CHECK(job.limit % std::chrono::minutes(5) == SimTime(0));
    work += job.cores * std::chrono::duration<double>(job.runtime).count();
  }
  const double all = 1024.0 * 28 * 24 * 3600;
  CHECK(work / all >= 0.9);
  CHECK(work / all < 0.95);  // the last job may be large
  CHECK(trace.jobs.back().submitted > std::chrono::hours(24 * 26));
  CHECK(trace.jobs.back().submitted < std::chrono::hours(24 * 30));
  CHECK(std::ranges::max(trace.jobs, {}, &TraceJob::cores).cores > published_size);
  WorkloadOptions small = options;
  small.most_cores = published_size;
  const Trace more = generate(small);
  CHECK(more.jobs.size() > 2 * trace.jobs.size());
  CHECK(std::ranges::max(more.jobs, {}, &TraceJob::cores).cores <= published_size);
}
