// Which variant of its function a node's calls run, by trial: a kernel that was built with several
// group sizes has one that is best for these cores and these pieces, and no model says which.
//
// Each variant has one call first. Then those that may still be better than the best one, by what
// times spread, have further ones; and so have the others now and then, since times change. What
// all trials cost is bounded: about one part in a hundred of the calls.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optimisers.h"

namespace orchid::flow {
namespace {

constexpr double as_good = 0.99;       // who is no better than this part of the best may stay aside
constexpr double sure = 2;             // deviations
constexpr double part_of_near = 0.01;  // of all calls, that trials of those that are near may cost
constexpr double part_of_far = 0.004;  // and those of others, together
constexpr double free_price = 0.25;    // of a near one, in calls, whatever there is to do
constexpr double least_dearer = 0.02;  // who is no dearer is taken for so much
constexpr double most_trials = 16;     // of a near one, each time that somebody asks

/// How far apart the means of two may be by chance.
double error_of(const VariantChoice& choice, const VariantTimes& a, const VariantTimes& b) {
  return b.relative * choice.spread * std::sqrt(1 / a.samples + 1 / b.samples);
}

bool is_known(const VariantTimes& one) { return one.samples > 0; }

std::uint32_t best_of(const VariantChoice& choice) {
  std::uint32_t best = choice.all[choice.usual].has_failed ? 0 : choice.usual;
  for (std::uint32_t i = 0; i < choice.all.size(); ++i) {
    const VariantTimes& one = choice.all[i];
    const VariantTimes& known = choice.all[best];
    if (!is_known(one) || one.has_failed || i == best) continue;
    if (!is_known(known) || one.relative + error_of(choice, one, known) < known.relative) best = i;
  }
  return best;
}

/// What a node has left to do, for those who would try something on it.
struct Left {
  bool is_much = false;    // a trial does not end last
  double calls_ended = 0;  // of all variants
};

/// So many calls of it are worth their price now.
std::uint32_t trials_of(const VariantChoice& choice, std::uint32_t number, std::uint32_t best,
                        const Left& left) {
  const VariantTimes& one = choice.all[number];
  if (number == best || one.open_calls != 0 || one.has_failed) return 0;
  if (!is_known(one)) return 1;
  const VariantTimes& known = choice.all[best];
  if (!is_known(known) || !left.is_much) return 0;
  if (one.samples < 2) return 1;  // one alone may have met a slow worker
  const double others = static_cast<double>(choice.all.size()) - 1;
  const double dearer = std::max(one.relative / known.relative - 1, least_dearer);
  const bool is_near =
      one.relative - sure * error_of(choice, one, known) < as_good * known.relative;
  const double price = is_near ? free_price + part_of_near * left.calls_ended / others
                               : part_of_far * left.calls_ended / others;
  const double worth_it = std::floor(price / dearer) - static_cast<double>(one.calls);
  return static_cast<std::uint32_t>(std::clamp(worth_it, 0.0, is_near ? most_trials : 1.0));
}

std::string text_of(const VariantChoice& choice, const VariantTurns& turns) {
  const VariantTimes& usual = choice.all[turns.usual];
  std::string text = usual.function;
  if (choice.piece_seconds > 0)
    text += fmt::format(", {:.3g} s a piece", choice.piece_seconds * usual.relative);
  for (std::uint32_t i = 0; i < choice.all.size(); ++i) {
    const VariantTimes& one = choice.all[i];
    if (i == turns.usual) continue;
    if (one.has_failed)
      text += fmt::format("; {} has failed", one.function);
    else if (is_known(one))
      text += fmt::format("; {} takes {:.3g} times as long", one.function,
                          one.relative / usual.relative);
    else
      text += fmt::format("; {} was not tried yet", one.function);
  }
  return text;
}

class Grid final : public Optimiser {
 public:
  [[nodiscard]] std::string_view name() const override { return "grid"; }
  [[nodiscard]] std::string description() const override {
    return "nodes that have variants of their function: a call of each, then the fastest one, and "
           "now and then another one; what was learned is kept";
  }
  [[nodiscard]] Result<Decided> decide(const Situation& situation) override {
    Decided decided;
    for (const ReadyNode& node : situation.nodes) {
      if (node.variants.empty()) continue;
      Advice advice{.node = node.node};
      for (const VariantChoice& choice : node.variants) {
        advice.variants.push_back(turns_for(node, choice, situation));
        // Where no call was made on a device there is nothing to tell of it.
        if (node.variants.size() > 1 && std::ranges::none_of(choice.all, is_known)) continue;
        const bool names_device = node.variants.size() > 1;
        advice.why += fmt::format(
            "{}{}{}", advice.why.empty() ? "grid: " : "; ",
            names_device ? fmt::format("on {}: ", to_string(choice.device)) : std::string(),
            text_of(choice, advice.variants.back()));
      }
      if (advice.why.empty()) advice.why = "grid: no variant was tried yet";
      decided.nodes.push_back(std::move(advice));
    }
    return decided;
  }

 private:
  static VariantTurns turns_for(const ReadyNode& node, const VariantChoice& choice,
                                const Situation& situation) {
    VariantTurns turns{.device = choice.device, .usual = best_of(choice)};
    const bool goes_on = node.kind == NodeKind::iterate;
    Left left{.is_much = goes_on || node.pieces_left > 2ULL * situation.workers};
    for (const VariantTimes& one : choice.all) left.calls_ended += static_cast<double>(one.calls);
    // One call is all that the node has: the first that was not tried yet, its own before others.
    if (!is_known(choice.all[turns.usual]) && choice.all[turns.usual].open_calls == 0)
      turns.trials.push_back(turns.usual);
    std::vector<std::uint32_t> trials;
    for (std::uint32_t i = 0; i < choice.all.size(); ++i)
      trials.push_back(trials_of(choice, i, turns.usual, left));
    // In turns, so that none has all of the longer pieces.
    for (bool more = true; std::exchange(more, false);)
      for (std::uint32_t i = 0; i < trials.size(); ++i) {
        if (trials[i] == 0) continue;
        --trials[i];
        turns.trials.push_back(i);
        more = true;
      }
    return turns;
  }
};

}  // namespace

std::unique_ptr<Optimiser> make_grid() { return std::make_unique<Grid>(); }

}  // namespace orchid::flow
