// utilisation/workload_model.h: makes the jobs of a cluster: U. Lublin and D. G. Feitelson, "The
// workload on parallel supercomputers: modeling the characteristics of rigid jobs", Journal of
// Parallel and Distributed Computing 63(11), 2003, with the parameters that its authors publish for
// all jobs together (batch and interactive).
#pragma once
#include <cstdint>
#include <random>

#include "utilisation/trace.h"

namespace orchid::utilisation {

/// As published. Sizes are logarithms to the base 2, times natural logarithms of seconds.
struct LublinParameters {
  // A job's processors: 1, or two uniform distributions one after the other.
  double serial_probability = 0.244;
  double power_of_two_probability = 0.576;
  double low_size = 0.8;
  double medium_size_below_highest = 2.5;  // 4.5 of the published system of 2^7
  double low_stage_probability = 0.86;
  // Its run time: two gamma distributions, the first one with p = slope * processors + intercept.
  double runtime_a1 = 4.2;
  double runtime_b1 = 0.94;
  double runtime_a2 = 312;
  double runtime_b2 = 0.03;
  double runtime_slope = -0.0054;
  double runtime_intercept = 0.78;
  double longest_runtime = 12;  // logarithm; another one is drawn
  // The time between two submissions at busy hours, and the cycle of the day in half hours from
  // `day_starts` on.
  double arrival_a = 10.2303;
  double arrival_b = 0.4871;
  double all_hours_ratio = 1.0225;  // of `arrival_a`
  double longest_arrival = 13;
  double cycle_a = 8.1737;
  double cycle_b = 3.9631;
  int day_starts = 11;
};

/// Draws from the distributions, one by one. A value of one thread.
class LublinModel {
 public:
  LublinModel(LublinParameters parameters, std::uint32_t processors, std::uint64_t seed);
  [[nodiscard]] std::uint32_t processors();
  [[nodiscard]] double runtime_seconds(std::uint32_t processors);
  /// Between two submissions, at hours with the day's mean rate.
  [[nodiscard]] double gap_seconds();

 private:
  LublinParameters parameters_;
  std::uint32_t most_;
  std::mt19937_64 random_;
};

/// The rate of submissions in each half hour of the day, from midnight on; their mean is 1.
[[nodiscard]] std::vector<double> daily_rates(const LublinParameters& parameters);

/// Regularised lower incomplete gamma function: the part of a gamma distribution of shape `a` and
/// scale 1 that lies below `x`.
[[nodiscard]] double gamma_below(double a, double x);

struct WorkloadOptions {
  std::uint32_t cores = 1024;
  /// Of one job; 0: all. The model's sizes follow from it.
  std::uint32_t most_cores = 0;
  /// Core time of all jobs over that of the cluster. The time between submissions is stretched to
  /// it, as is usual with this model, whose own load follows from its system's size.
  double load = 0.85;
  SimTime span{0};
  std::uint64_t seed = 1;
  LublinParameters parameters{};
};

/// Users' limits: what the job takes is a uniformly distributed part of what its user asks for (A.
/// W. Mu'alem and D. G. Feitelson, IEEE TPDS 12(6), 2001, figure 5: flat between peaks), and they
/// ask for round times (D. Tsafrir et al., JSSPP 2005: twenty values make up most of a trace).
[[nodiscard]] Trace generate(const WorkloadOptions& options);

}  // namespace orchid::utilisation
