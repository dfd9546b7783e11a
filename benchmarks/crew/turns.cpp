#include "crew/turns.h"

#include <algorithm>
#include <cstdio>

namespace orchid::bench {

std::string row_of_turns(const std::string& name, const std::string& where,
                         const Crew::Round& round) {
  std::string row = name + ", " + where + ", depth " + std::to_string(round.depth);
  if (round.in_flight > 1) row += ", " + std::to_string(round.in_flight) + " at a time";
  return row;
}

Crew::Round round_of(std::uint64_t depth, unsigned in_flight, std::uint64_t hops) {
  const auto chases = static_cast<unsigned>(std::max<std::uint64_t>(hops / depth, 1));
  return {.depth = depth, .in_flight = in_flight, .chases = std::max(chases, in_flight)};
}

CrewTurns::CrewTurns(Bench& bench, std::string where, std::vector<Contender> contenders)
    : bench_(bench), where_(std::move(where)), contenders_(std::move(contenders)) {
  for (const Contender& one : contenders_)
    crews_.push_back(or_end(Crew::start(one.plan), where_ + ", " + one.name));
}

std::vector<double> CrewTurns::turn(std::size_t contender, const Crew::Round& round) {
  return or_end(crews_[contender].chase(round), where_ + ", " + contenders_[contender].name);
}

void CrewTurns::chase(const Crew::Round& round) {
  std::vector<std::vector<std::vector<double>>> series(contenders_.size());
  std::vector<std::vector<double>> again;
  for (std::size_t i = 0; i < contenders_.size(); ++i) (void)turn(i, round);  // warm
  const std::size_t turns = contenders_.size() + 1;
  for (int number = 0; number < bench_.rounds(); ++number)
    for (std::size_t step = 0; step < turns; ++step) {
      const std::size_t now = (step + static_cast<std::size_t>(number)) % turns;
      if (now == contenders_.size())
        again.push_back(turn(0, round));
      else
        series[now].push_back(turn(now, round));
    }
  for (std::size_t i = 1; i < contenders_.size(); ++i) {
    Comparison comparison{.row = row_of_turns(contenders_[i].name, where_, round),
                          .unit = "us/hop",
                          .round = {},
                          .baseline = {contenders_[0].name, bench_.command_line(),
                                       "UCX_TLS=" + contenders_[0].plan.transports},
                          .baseline_round = {},
                          .promises = {}};
    if (contenders_[i].promised && round.depth >= first_promised_depth)
      comparison.promises = {{Statistic::p50, {Target::Direction::at_most, 1 / 0.95}}};
    const auto rows = rows_of(bench_.name(), comparison, {series[i], series[0], again});
    std::fprintf(stderr, "%s: %.3f x (%.2f us against %.2f us)\n", rows[0].row.c_str(),
                 *rows[0].ratio, rows[0].value.p50, rows[0].baseline_value.p50);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (i == 1 || row + 1 < rows.size()) bench_.add(rows[row]);  // one A/A row for all
  }
}

}  // namespace orchid::bench
