// How many pieces a call is given. Small runs pay the price of a call too often; large ones leave
// workers idle at the end, behind the one that has the last run, and more so where workers differ.
//
// The first calls have one piece, and show what a piece and a call cost. Then a run is as long as
// makes the price of a call one part in `worth` of it; and no longer than its share of what is
// left, so that runs become shorter towards the end (guided self-scheduling, Polychronopoulos and
// Kuck 1987), down to where they would pay too much for calls.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "optimisers.h"

namespace orchid::flow {
namespace {

constexpr double worth = 200;
/// Runs that are left for each worker, at each moment: more of them end more evenly, and pay more
/// calls. Many are taken where workers or pieces differ: a worker of a quarter of the others' speed
/// takes four times as long with its share, and there are to be as many for the others meanwhile.
constexpr double fewest_runs = 2;
constexpr double most_runs = 5;
constexpr double most_pieces_of_call = 1e9;

class Granularity final : public Optimiser {
 public:
  [[nodiscard]] std::string_view name() const override { return "granularity"; }
  [[nodiscard]] std::string description() const override {
    return "maps whose function takes a span: as many pieces a call as keep its price below 0.5 %, "
           "and fewer towards the end";
  }
  [[nodiscard]] Result<Decided> decide(const Situation& situation) override {
    Decided decided;
    for (const ReadyNode& node : situation.nodes) {
      if (!node.in_runs) continue;
      const FunctionTimes* times = situation.times_of(node.function);
      if (times == nullptr || times->pieces == 0) continue;  // its first calls have one piece
      decided.nodes.push_back(advice_for(node, *times, situation.workers));
    }
    return decided;
  }

 private:
  static Advice advice_for(const ReadyNode& node, const FunctionTimes& times,
                           std::uint32_t workers) {
    const double piece = std::max({times.seconds_of_piece(), times.recent_piece_seconds, 1e-9});
    const double dear = std::ceil(worth * times.overhead_seconds / piece);
    // No run is much longer than all that was measured: it may be otherwise there.
    const double known = static_cast<double>(times.pieces) / workers;
    const double best = std::clamp(std::min(dear, known), 1.0, most_pieces_of_call);
    const double spread = times.slowest_piece_seconds / piece;
    const auto runs =
        static_cast<std::uint32_t>(std::ceil(std::clamp(spread, fewest_runs, most_runs)));
    Advice advice{
        .node = node.node, .pieces = static_cast<std::uint64_t>(best), .share = runs * workers};
    advice.why = fmt::format(
        "granularity: {} pieces a call at most, and 1/{} of what is left; a piece takes {:.3g} s, "
        "and a call {:.3g} s more",
        advice.pieces, advice.share, piece, times.overhead_seconds);
    return advice;
  }
};

}  // namespace

std::unique_ptr<Optimiser> make_granularity() { return std::make_unique<Granularity>(); }

}  // namespace orchid::flow
