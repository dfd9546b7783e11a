#include "utilisation/workload_model.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace orchid::utilisation {
namespace {

constexpr int buckets = 48;  // half hours of a day
constexpr double bucket_seconds = 1800;

// What users ask for, in minutes.
constexpr std::array<int, 17> round_minutes{5,   10,  15,  20,  30,  60,   120,  180, 240,
                                            300, 360, 480, 720, 900, 1080, 1440, 2880};

double uniform(std::mt19937_64& random) { return std::generate_canonical<double, 53>(random); }

SimTime asked_for(double runtime_seconds, std::mt19937_64& random) {
  // Not below a hundredth: the longest limits are days, not years.
  const double minutes = runtime_seconds / std::max(0.01, uniform(random)) / 60;
  const auto round = std::ranges::lower_bound(round_minutes, minutes);
  // Over the longest round time the site's limit is what is asked for; no job takes longer.
  return std::chrono::minutes(round == round_minutes.end() ? round_minutes.back() : *round);
}

}  // namespace

double gamma_below(double a, double x) {
  if (x <= 0) return 0;
  double term = 1 / a;
  double sum = term;
  for (int n = 1; n < 1000 && term > sum * 1e-14; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

std::vector<double> daily_rates(const LublinParameters& parameters) {
  std::vector<double> rates(buckets);
  double sum = 0;
  for (int i = parameters.day_starts; i < parameters.day_starts + buckets; ++i) {
    const double part = gamma_below(parameters.cycle_a, (i + 0.5) / parameters.cycle_b) -
                        gamma_below(parameters.cycle_a, (i - 0.5) / parameters.cycle_b);
    rates[static_cast<std::size_t>((i - 1) % buckets)] = part;
    sum += part;
  }
  for (double& rate : rates) rate *= buckets / sum;
  return rates;
}

LublinModel::LublinModel(LublinParameters parameters, std::uint32_t processors, std::uint64_t seed)
    : parameters_(parameters), most_(processors), random_(seed) {
  assert(processors >= 8);
}

std::uint32_t LublinModel::processors() {
  const double kind = uniform(random_);
  if (kind <= parameters_.serial_probability) return 1;
  const double highest = std::log2(static_cast<double>(most_));
  const double medium = highest - parameters_.medium_size_below_highest;
  const bool is_low = uniform(random_) <= parameters_.low_stage_probability;
  const double from = is_low ? parameters_.low_size : medium;
  const double to = is_low ? medium : highest;
  double size = from + uniform(random_) * (to - from);
  if (kind <= parameters_.serial_probability + parameters_.power_of_two_probability)
    size = std::floor(size + 0.5);
  return std::clamp(static_cast<std::uint32_t>(std::lround(std::exp2(size))), 1U, most_);
}

double LublinModel::runtime_seconds(std::uint32_t processors) {
  const double p =
      std::clamp(parameters_.runtime_slope * processors + parameters_.runtime_intercept, 0.0, 1.0);
  std::gamma_distribution<double> first(parameters_.runtime_a1, parameters_.runtime_b1);
  std::gamma_distribution<double> second(parameters_.runtime_a2, parameters_.runtime_b2);
  for (;;) {
    const double logarithm = uniform(random_) <= p ? first(random_) : second(random_);
    if (logarithm <= parameters_.longest_runtime) return std::exp(logarithm);
  }
}

double LublinModel::gap_seconds() {
  std::gamma_distribution<double> gap(parameters_.arrival_a * parameters_.all_hours_ratio,
                                      parameters_.arrival_b);
  for (;;)
    if (const double logarithm = gap(random_); logarithm <= parameters_.longest_arrival)
      return std::exp(logarithm);
}

Trace generate(const WorkloadOptions& options) {
  LublinModel model(options.parameters,
                    options.most_cores != 0 ? options.most_cores : options.cores, options.seed);
  std::mt19937_64 random(options.seed ^ 0x5f3759dfULL);
  const double span = std::chrono::duration<double>(options.span).count();
  const double wanted_work = options.load * options.cores * span;
  Trace trace{.jobs = {}, .end = options.span};
  std::vector<double> gaps;
  double work = 0;
  double whole_gap = 0;
  while (work < wanted_work) {
    gaps.push_back(model.gap_seconds());
    whole_gap += gaps.back();
    const std::uint32_t cores = model.processors();
    const double runtime = std::ceil(model.runtime_seconds(cores));
    work += cores * runtime;
    trace.jobs.push_back({.id = trace.jobs.size() + 1,
                          .submitted = SimTime(0),
                          .cores = cores,
                          .runtime = SimTime(static_cast<SimTime::rep>(runtime * 1000)),
                          .limit = asked_for(runtime, random)});
  }
  // Gaps are in time that runs faster when more is submitted; the cycle keeps to the clock.
  const std::vector<double> rates = daily_rates(options.parameters);
  const double stretch = span / whole_gap;
  double now = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    double left = gaps[i] * stretch;
    for (;;) {
      const auto bucket = static_cast<std::uint64_t>(now / bucket_seconds);
      const double rate = std::max(rates[bucket % buckets], 1e-9);
      const double until = static_cast<double>(bucket + 1) * bucket_seconds;
      if (left <= (until - now) * rate) {
        now += left / rate;
        break;
      }
      left -= (until - now) * rate;
      now = until;
    }
    trace.jobs[i].submitted = SimTime(static_cast<SimTime::rep>(now * 1000));
  }
  trace.end = std::max(trace.end, trace.jobs.empty() ? SimTime(0) : trace.jobs.back().submitted);
  return trace;
}

}  // namespace orchid::utilisation
