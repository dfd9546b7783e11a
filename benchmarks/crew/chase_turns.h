// crew/chase_turns.h: ways of chasing that take turns, and the rows and lines that come of it.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "crew/crew.h"
#include "crew/depth_chart.h"
#include "foundation/result.h"
#include "harness/bench.h"

namespace orchid::bench {

/// One way of chasing; the first one of several is what the others are compared with.
struct Chaser {
  std::string name;
  std::function<Result<std::vector<double>>(const Crew::Round&)> chase;  // microseconds a hop
  /// At most so many times the first one's time, from 256 steps on.
  std::optional<double> promised{};
  std::string transports{};
  /// It is compared with another one as well, of that number.
  struct Also {
    std::size_t chaser = 0;
    double promised = 1;
  };
  std::optional<Also> also{};
};

/// Rounds of all chasers in turn; those that others are compared with have two. Owned by the main
/// thread.
class ChaseTurns {
 public:
  ChaseTurns(Bench& bench, std::string where, std::vector<Chaser> chasers);

  /// Ends the program when one fails.
  void chase(const Crew::Round& round);

  [[nodiscard]] const std::vector<DepthLine>& lines() const { return lines_; }

 private:
  using Series = std::vector<std::vector<double>>;
  [[nodiscard]] std::vector<double> turn(std::size_t chaser, const Crew::Round& round);
  void add_rows(std::size_t chaser, std::size_t baseline, const Crew::Round& round,
                const RoundSeries& series);

  Bench& bench_;
  std::string where_;
  std::vector<Chaser> chasers_;
  std::vector<DepthLine> lines_;
};

}  // namespace orchid::bench
