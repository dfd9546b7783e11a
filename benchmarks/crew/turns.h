// crew/turns.h: crews that chase in turns, and the rows that come of it.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "crew/crew.h"
#include "foundation/result.h"
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

/// What is promised counts from here on.
constexpr std::uint64_t first_promised_depth = 256;

/// "NAME, WHERE, depth N", and how many are under way if more than one is.
[[nodiscard]] std::string row_of_turns(const std::string& name, const std::string& where,
                                       const Crew::Round& round);

/// What has come, or the end of the program. The main thread.
template <typename T>
[[nodiscard]] T or_end(Result<T> result, const std::string& who) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s: %s\n", who.c_str(), result.error().message.c_str());
  std::exit(3);  // NOLINT(concurrency-mt-unsafe): other threads only wait
}

/// So many chases that a round has about `hops` hops, and at least `in_flight`.
[[nodiscard]] Crew::Round round_of(std::uint64_t depth, unsigned in_flight, std::uint64_t hops);

}  // namespace orchid::bench
