// benchmarks/colocation.cpp: what do functions cost the batch job on the core beside them?
//
// The job's core is the first of this process's affinity mask, the functions' the second: gateway,
// executor (as a pilot has it: bound to its core, behind everybody) and the client that keeps it
// busy all live on that one. The function is STREAM's triad, the worst neighbour there is. A job
// that computes must not notice; one that lives from the memory's bandwidth is protected by
// --bandwidth-cap. That cap is chosen for each such job as an administrator would choose it: the
// job is measured beside some caps, and a line through what they cost tells the one that makes it
// almost a twentieth slower. What that one does is measured anew then.
//
//     --svg FILE   the chart of slowdown over the functions' duty: the share of time for which they
//                  may run, seen in their throughput
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "colocation/function_load.h"
#include "colocation/slowdown_chart.h"
#include "colocation/victims.h"
#include "foundation/files.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "harness/statistics.h"

namespace orchid::bench::colocation {
namespace {

constexpr double allowed = 0.05;  // slowdown of a job, with the cap
constexpr double margin = 0.9;    // of it, that the cap is chosen for
constexpr int chart_rounds = 15;
/// Of the functions' full throughput. Above a half, nobody sets a cap.
constexpr std::array ladder_of_caps{0.06, 0.09, 0.13, 0.18, 0.25, 0.5};
constexpr int turns = 3;  // in a round of what is a ratio of differences
constexpr int status_broken = 3;

struct Observed {
  double time = 0;        // of the victim
  double throughput = 0;  // of the functions, bytes per second; 0: there are none
  Observed& operator+=(const Observed& other) {
    time += other.time;
    throughput += other.throughput;
    return *this;
  }
};

/// A job that lives from the memory's bandwidth, and the cap that protects it.
struct Protected {
  Victim* victim = nullptr;
  ByteCount cap;
  std::unique_ptr<FunctionLoad> load;  // with that cap
};

class Colocation {
 public:
  Colocation(Bench& bench, int job_core, int function_core)
      : bench_(bench), job_core_(job_core), function_core_(function_core) {
    computing_.push_back(make_gemm());
#ifdef PING_PONG
    computing_.push_back(make_ping_pong(MPIRUN, PING_PONG, job_core));
#endif
    streaming_.push_back(make_triad());
    streaming_.push_back(make_stencil());
  }

  void run(const std::string& chart_file) {
    full_ = start(ByteCount{});
    choose_caps();
    draw(chart_file);
    for (const auto& victim : computing_) compare(*victim, *full_, "full speed", 1.02);
    for (const Protected& job : protected_) {
      compare(*job.victim, *full_, "full speed", std::nullopt);
      compare(*job.victim, *job.load, name_of(job.cap), 1 + allowed);
      measure_kept(job);
    }
    const Protected& strictest = *std::ranges::min_element(
        protected_, {}, [](const Protected& job) { return job.cap.value; });
    for (const auto& victim : computing_)
      compare(*victim, *strictest.load, name_of(strictest.cap), std::nullopt);
  }

 private:
  [[nodiscard]] std::unique_ptr<FunctionLoad> start(ByteCount cap) const {
    return std::make_unique<FunctionLoad>(FunctionLoad::Options{.programs = PROGRAMS,
                                                                .module = TRIAD_MODULE,
                                                                .core = function_core_,
                                                                .job_core = job_core_,
                                                                .cap = cap});
  }

  [[nodiscard]] static Result<Observed> observe(Victim& victim, FunctionLoad* load) {
    if (load != nullptr) load->go_on();
    auto time = victim.run();
    const double throughput = load != nullptr ? load->pause() : 0;
    if (!time) return fail(std::move(time.error()));
    return Observed{*time, throughput};
  }

  [[nodiscard]] static Observed must_observe(Victim& victim, FunctionLoad* load) {
    auto observed = observe(victim, load);
    if (!observed) throw std::runtime_error(observed.error().message);
    return *observed;
  }

  /// Medians over interleaved rounds: alone, and beside each load.
  [[nodiscard]] static std::vector<ChartPoint> slowdowns(Victim& victim,
                                                         const std::vector<FunctionLoad*>& loads,
                                                         int rounds, double full) {
    std::vector<std::vector<double>> ratios(loads.size());
    std::vector<std::vector<double>> throughputs(loads.size());
    for (int round = 0; round < rounds; ++round) {
      const double alone = must_observe(victim, nullptr).time;
      for (std::size_t i = 0; i < loads.size(); ++i) {
        const Observed beside = must_observe(victim, loads[i]);
        ratios[i].push_back(beside.time / alone - 1);
        throughputs[i].push_back(beside.throughput);
      }
    }
    std::vector<ChartPoint> points;
    for (std::size_t i = 0; i < loads.size(); ++i)
      points.push_back({median(throughputs[i]) / full, median(ratios[i])});
    return points;
  }

  [[nodiscard]] static std::string name_of(ByteCount cap) {
    return fmt::format("a cap of {}", to_string(cap));
  }

  void choose_caps() {
    full_->go_on();
    (void)must_observe(*streaming_.front(), nullptr);
    full_throughput_ = full_->pause();
    const auto cap_of = [this](double share) {
      return ByteCount{static_cast<std::uint64_t>(full_throughput_ * share) >> 20U << 20U};
    };
    std::vector<std::unique_ptr<FunctionLoad>> loads;
    std::vector<FunctionLoad*> ladder;
    for (const double share : ladder_of_caps) {
      loads.push_back(start(cap_of(share)));
      ladder.push_back(loads.back().get());
    }
    ladder.push_back(full_.get());
    std::string chosen;
    for (const auto& victim : streaming_) {
      ChartLine line = line_of(*victim, ladder, chart_rounds);
      const double share = share_that_costs(margin * allowed, line);
      protected_.push_back({victim.get(), cap_of(share), start(cap_of(share))});
      chosen +=
          fmt::format("cap for {}: {} in a second\n", line.name, to_string(protected_.back().cap));
      lines_.push_back(std::move(line));
    }
    // Of jobs that compute, little is to be seen, so a few points will do.
    const std::vector<FunctionLoad*> upper(ladder.end() - 3, ladder.end());
    for (const auto& victim : computing_)
      lines_.push_back(line_of(*victim, upper, chart_rounds / 3));
    fmt::print("functions at full speed move {:.1f} GB/s\n{}{}", full_throughput_ / 1e9,
               table_of(lines_), chosen);
    std::fflush(stdout);
  }

  /// From the origin on, over what each load costs.
  [[nodiscard]] ChartLine line_of(Victim& victim, const std::vector<FunctionLoad*>& loads,
                                  int rounds) const {
    ChartLine line{victim.name(), {{0, 0}}};
    for (const ChartPoint& point : slowdowns(victim, loads, rounds, full_throughput_))
      line.points.push_back(point);
    return line;
  }

  /// By a line through the origin, of least squares, over what the caps have cost.
  [[nodiscard]] static double share_that_costs(double slowdown, const ChartLine& line) {
    double squares = 0;
    double products = 0;
    for (std::size_t i = 0; i < ladder_of_caps.size(); ++i) {
      squares += ladder_of_caps[i] * ladder_of_caps[i];
      products += ladder_of_caps[i] * line.points[i + 1].slowdown;  // the first is the origin
    }
    if (products <= 0) return 1;
    return std::clamp(slowdown * squares / products, ladder_of_caps.front(), 1.0);
  }

  void compare(Victim& victim, FunctionLoad& load, const std::string& how,
               std::optional<double> bound) {
    const auto round = [&victim](FunctionLoad* beside) -> Result<std::vector<double>> {
      auto observed = observe(victim, beside);
      if (!observed) return fail(std::move(observed.error()));
      return std::vector{observed->time};
    };
    Comparison comparison{.row = victim.name() + " beside functions, " + how,
                          .unit = victim.unit(),
                          .round = [round, &load] { return round(&load); },
                          .baseline = {"the same alone", bench_.command_line(), ""},
                          .baseline_round = [round] { return round(nullptr); },
                          .promises = {}};
    if (bound) comparison.promises = {{Statistic::p50, {Target::Direction::at_most, *bound}}};
    bench_.compare(comparison);
  }

  /// Half the speed for half the slowdown would be fair: what the functions have with the cap,
  /// against what a straight line from nothing to full speed allows them at 5 %.
  void measure_kept(const Protected& job) {
    bench_.measure({.row = "throughput that functions keep beside " + job.victim->name() +
                           ", of what linear interpolation allows",
                    .unit = "x",
                    .round = [this, &job]() -> Result<std::vector<double>> {
                      Observed alone;
                      Observed full;
                      Observed capped;
                      for (int turn = 0; turn < turns; ++turn) {
                        alone += must_observe(*job.victim, nullptr);
                        full += must_observe(*job.victim, full_.get());
                        capped += must_observe(*job.victim, job.load.get());
                      }
                      const double slowdown = full.time / alone.time - 1;
                      const double share = slowdown <= allowed ? 1 : allowed / slowdown;
                      return std::vector{capped.throughput / (full.throughput * share)};
                    },
                    .promises = {{Statistic::p50, {Target::Direction::at_least, 0.8}}}});
  }

  void draw(const std::string& file) const {
    if (file.empty()) return;
    const std::string chart = chart_of(lines_, allowed);
    if (auto written = write_file_atomically(file, as_bytes(chart), 0644); !written)
      throw std::runtime_error(written.error().message);
  }

  Bench& bench_;
  int job_core_;
  int function_core_;
  std::vector<std::unique_ptr<Victim>> computing_;
  std::vector<std::unique_ptr<Victim>> streaming_;
  std::unique_ptr<FunctionLoad> full_;
  double full_throughput_ = 0;  // bytes per second, beside a job
  std::vector<Protected> protected_;
  std::vector<ChartLine> lines_;
};

/// Takes "--svg FILE" or "--svg=FILE" out of the arguments.
std::string take_chart_file(std::vector<char*>& arguments) {
  constexpr std::string_view name = "--svg";
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const bool has_value = word.starts_with("--svg=");
    if (!has_value && (word != name || i + 1 == arguments.size())) continue;
    std::string file(has_value ? word.substr(name.size() + 1) : arguments[i + 1]);
    const auto at = arguments.begin() + static_cast<long>(i);
    arguments.erase(at, at + (has_value ? 1 : 2));
    return file;
  }
  return {};
}

}  // namespace
}  // namespace orchid::bench::colocation

int main(int argc, char** argv) {
  using namespace orchid::bench;
  std::vector<char*> arguments(argv, argv + argc);
  const std::string chart = colocation::take_chart_file(arguments);
  arguments.push_back(nullptr);
  Bench bench("colocation", static_cast<int>(arguments.size()) - 1, arguments.data());
  const auto cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("colocation: needs two cores\n", stderr);
    return colocation::status_broken;
  }
  try {
    if (auto pinned = pin_this_thread(cores[0]); !pinned)
      throw std::runtime_error(pinned.error().message);
    colocation::Colocation(bench, cores[0], cores[1]).run(chart);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colocation: %s\n", error.what());
    return colocation::status_broken;
  }
  return bench.report();
}
