#include "crew/chase_turns.h"

#include <set>
#include <utility>

#include "crew/turns.h"
#include "harness/statistics.h"

namespace orchid::bench {
namespace {

double median_of(const std::vector<std::vector<double>>& series) {
  std::vector<double> all;
  for (const auto& round : series) all.insert(all.end(), round.begin(), round.end());
  return median(std::move(all));
}

}  // namespace

ChaseTurns::ChaseTurns(Bench& bench, std::string where, std::vector<Chaser> chasers)
    : bench_(bench), where_(std::move(where)), chasers_(std::move(chasers)) {
  for (const Chaser& chaser : chasers_) lines_.push_back({.name = chaser.name, .points = {}});
}

void ChaseTurns::chase(const Crew::Round& round) {
  std::set<std::size_t> baselines{0};
  for (const Chaser& chaser : chasers_)
    if (chaser.also) baselines.insert(chaser.also->chaser);
  std::vector<Series> series(chasers_.size());
  std::vector<Series> again(chasers_.size());
  std::vector<std::pair<std::size_t, Series*>> turns;
  for (std::size_t i = 0; i < chasers_.size(); ++i) turns.emplace_back(i, &series[i]);
  for (const std::size_t i : baselines) turns.emplace_back(i, &again[i]);
  for (std::size_t i = 0; i < chasers_.size(); ++i) (void)turn(i, round);  // warm
  for (int number = 0; number < bench_.rounds(); ++number)
    for (std::size_t step = 0; step < turns.size(); ++step) {
      const auto& [chaser, into] = turns[(step + static_cast<std::size_t>(number)) % turns.size()];
      into->push_back(turn(chaser, round));
    }
  for (std::size_t i = 0; i < chasers_.size(); ++i) {
    if (round.in_flight == 1)
      lines_[i].points.push_back({.depth = round.depth, .us_per_hop = median_of(series[i])});
    if (i > 0) add_rows(i, 0, round, {series[i], series[0], again[0]});
    if (const auto& also = chasers_[i].also)
      add_rows(i, also->chaser, round, {series[i], series[also->chaser], again[also->chaser]});
  }
}

std::vector<double> ChaseTurns::turn(std::size_t chaser, const Crew::Round& round) {
  return or_end(chasers_[chaser].chase(round), where_ + ", " + chasers_[chaser].name);
}

void ChaseTurns::add_rows(std::size_t chaser, std::size_t baseline, const Crew::Round& round,
                          const RoundSeries& series) {
  const Chaser& who = chasers_[chaser];
  const Chaser& rival = chasers_[baseline];
  std::string row = row_of_turns(who.name, where_, round);
  if (baseline != 0) row += ", where " + rival.name;
  Comparison comparison{
      .row = row,
      .unit = "us/hop",
      .round = {},
      .baseline = {rival.name, bench_.command_line(), "UCX_TLS=" + rival.transports},
      .baseline_round = {},
      .promises = {}};
  const auto promised = baseline == 0 ? who.promised : std::optional(who.also->promised);
  if (promised && round.depth >= first_promised_depth && round.in_flight == 1)
    comparison.promises = {{Statistic::p50, {Target::Direction::at_most, *promised}}};
  const auto rows = rows_of(bench_.name(), comparison, series);
  // The last one is the baseline against itself. The first chaser's has one for all.
  const bool has_last = baseline != 0 || chaser == 1;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (has_last || i + 1 < rows.size()) bench_.add(rows[i]);
}

}  // namespace orchid::bench
