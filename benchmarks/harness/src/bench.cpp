#include "harness/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "foundation/files.h"
#include "harness/machine.h"

namespace orchid::bench {

namespace {

constexpr int fewest_rounds = 21;
constexpr int status_broken = 3;
constexpr int status_usage = 64;
// Fixed, so that the same measurements give the same interval.
constexpr std::uint64_t bootstrap_seed = 20'000;

double statistic_of(const std::vector<double>& series, Statistic statistic) {
  return percentile(series, statistic == Statistic::p50 ? 0.5 : 0.99);
}

Quantiles quantiles_of(const std::vector<std::vector<double>>& rounds) {
  std::vector<double> all;
  for (const auto& round : rounds) all.insert(all.end(), round.begin(), round.end());
  return {percentile(all, 0.5), percentile(all, 0.99)};
}

std::vector<double> ratios_of(const std::vector<std::vector<double>>& above,
                              const std::vector<std::vector<double>>& below, Statistic statistic) {
  std::vector<double> ratios;
  ratios.reserve(above.size());
  for (std::size_t i = 0; i < above.size(); ++i) {
    ratios.push_back(statistic_of(above[i], statistic) / statistic_of(below[i], statistic));
  }
  return ratios;
}

std::string row_name(const std::string& row, Statistic statistic) {
  return statistic == Statistic::p50 ? row : row + ", p99";
}

}  // namespace

std::vector<Row> rows_of(const std::string& benchmark, const Comparison& comparison,
                         const RoundSeries& series) {
  const auto self_ratios = ratios_of(series.baseline_again, series.baseline, Statistic::p50);
  const double self_ratio = median(self_ratios);
  const bool fair = self_ratio >= fair_self_ratio.low && self_ratio <= fair_self_ratio.high;
  const Quantiles baseline = quantiles_of(series.baseline);

  std::vector<Promise> promises = comparison.promises;
  const bool promised = !promises.empty();
  if (!promised) promises.push_back({});
  std::vector<Row> rows;
  for (const Promise& promise : promises) {
    const auto ratios = ratios_of(series.subject, series.baseline, promise.statistic);
    Row row{.benchmark = benchmark,
            .row = row_name(comparison.row, promise.statistic),
            .unit = comparison.unit,
            .value = quantiles_of(series.subject),
            .baseline = comparison.baseline,
            .baseline_value = baseline,
            .ratio = median(ratios),
            .interval = bootstrap_median(ratios, bootstrap_seed)};
    if (promised) {
      row.target = promise.target;
      row.verdict = promise.target.met_by(row.interval) ? Verdict::met : Verdict::missed;
    }
    rows.push_back(std::move(row));
  }
  rows.push_back({.benchmark = benchmark,
                  .row = "A/A of " + comparison.row,
                  .unit = comparison.unit,
                  .value = quantiles_of(series.baseline_again),
                  .baseline = comparison.baseline,
                  .baseline_value = baseline,
                  .ratio = self_ratio,
                  .interval = bootstrap_median(self_ratios, bootstrap_seed),
                  .verdict = fair ? Verdict::measured : Verdict::inconclusive});
  return rows;
}

std::vector<Row> rows_of(const std::string& benchmark, const Measurement& measurement,
                         const std::vector<std::vector<double>>& series) {
  std::vector<Promise> promises = measurement.promises;
  const bool promised = !promises.empty();
  if (!promised) promises.push_back({});
  std::vector<Row> rows;
  for (const Promise& promise : promises) {
    std::vector<double> values;
    values.reserve(series.size());
    for (const auto& round : series) values.push_back(statistic_of(round, promise.statistic));
    Row row{.benchmark = benchmark,
            .row = row_name(measurement.row, promise.statistic),
            .unit = measurement.unit,
            .value = quantiles_of(series),
            .interval = bootstrap_median(values, bootstrap_seed)};
    if (promised) {
      row.target = promise.target;
      row.verdict = promise.target.met_by(row.interval) ? Verdict::met : Verdict::missed;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Bench::Bench(std::string name, int argc, char** argv) : name_(std::move(name)) {
  for (int i = 0; i < argc; ++i) command_line_ += (i == 0 ? "" : " ") + std::string(argv[i]);
  // "--rounds 30" and "--rounds=30".
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    words.push_back(word.substr(0, equals));
    if (equals != std::string::npos) words.push_back(word.substr(equals + 1));
  }
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--json" && has_value) {
      json_file_ = words[i + 1];
    } else if (words[i] == "--rounds" && has_value &&
               std::atoi(words[i + 1].c_str()) >= fewest_rounds) {
      rounds_ = std::atoi(words[i + 1].c_str());
    } else {
      fmt::print(stderr, "usage: {} [--rounds N (at least {})] [--json FILE]\n", argv[0],
                 fewest_rounds);
      std::exit(status_usage);
    }
  }
}

std::vector<double> Bench::run(const std::string& row, const Round& round) const {
  auto series = round();
  if (series && series->empty()) series = fail(ErrorCode::internal, "the round measured nothing");
  if (!series) {
    fmt::print(stderr, "{}: {}: {}\n", name_, row, series.error().message);
    std::exit(status_broken);
  }
  return std::move(*series);
}

void Bench::compare(const Comparison& comparison) {
  RoundSeries series;
  struct Turn {
    const Round& round;
    std::vector<std::vector<double>>& series;
  };
  const std::array<Turn, 3> turns{{{comparison.round, series.subject},
                                   {comparison.baseline_round, series.baseline},
                                   {comparison.baseline_round, series.baseline_again}}};
  for (int round = 0; round < rounds_; ++round) {
    // Each takes each place equally often, so a machine that warms up or slows down favours nobody.
    for (std::size_t turn = 0; turn < turns.size(); ++turn) {
      const Turn& next = turns[(turn + static_cast<std::size_t>(round)) % turns.size()];
      next.series.push_back(run(comparison.row, next.round));
    }
    if (::isatty(STDERR_FILENO) != 0)
      fmt::print(stderr, "\r{}: {}: round {}/{} ", name_, comparison.row, round + 1, rounds_);
  }
  if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
  for (Row& row : rows_of(name_, comparison, series)) rows_.push_back(std::move(row));
}

void Bench::measure(const Measurement& measurement) {
  std::vector<std::vector<double>> series;
  for (int round = 0; round < rounds_; ++round)
    series.push_back(run(measurement.row, measurement.round));
  for (Row& row : rows_of(name_, measurement, series)) rows_.push_back(std::move(row));
}

void Bench::add(Row row) {
  row.benchmark = name_;
  rows_.push_back(std::move(row));
}

int Bench::report() const {
  fmt::print("{}: {} rounds, {}\n{}", name_, rounds_, describe_machine(), table_of(rows_));
  const int status = exit_status_of(rows_);
  if (status == 2) {
    fmt::print(
        "inconclusive: the baseline against itself left {}..{}; run it on a quieter machine\n",
        fair_self_ratio.low, fair_self_ratio.high);
  }
  if (!json_file_.empty()) {
    if (auto written = write_file_atomically(json_file_, as_bytes(json_of(rows_)), 0644);
        !written) {
      fmt::print(stderr, "{}: {}\n", name_, written.error().message);
      return status_broken;
    }
  }
  return status;
}

}  // namespace orchid::bench
