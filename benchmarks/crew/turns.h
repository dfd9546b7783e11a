// crew/turns.h: crews that chase in turns, and the rows that come of it.
#pragma once
#include <string>
#include <vector>

#include "crew/crew.h"
#include "harness/bench.h"

namespace orchid::bench {

/// One of several crews that are compared; the first one is the baseline.
struct Contender {
  std::string name;  // in a row
  CrewPlan plan;
  bool promised = false;  // at most 1 / 0.95 of the baseline's time, from depth 256 on
};

/// Owned by the main thread.
class CrewTurns {
 public:
  /// Ends the program when a crew cannot be started.
  CrewTurns(Bench& bench, std::string where, std::vector<Contender> contenders);

  /// In each round every crew has its turn, the baseline twice. Ends the program when one fails.
  void chase(const Crew::Round& round);

 private:
  [[nodiscard]] std::vector<double> turn(std::size_t contender, const Crew::Round& round);

  Bench& bench_;
  std::string where_;
  std::vector<Contender> contenders_;
  std::vector<Crew> crews_;
};

/// So many chases that a round has about `hops` hops, and at least `in_flight`.
[[nodiscard]] Crew::Round round_of(std::uint64_t depth, unsigned in_flight, std::uint64_t hops);

}  // namespace orchid::bench
