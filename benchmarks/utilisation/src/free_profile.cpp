#include "utilisation/free_profile.h"

#include <algorithm>
#include <cassert>

namespace orchid::utilisation {

std::optional<Shares> choose_nodes(std::vector<std::int32_t> free, std::uint32_t cores) {
  Shares shares;
  auto left = static_cast<std::int32_t>(cores);
  while (left > 0) {
    std::size_t best = free.size();
    for (std::size_t node = 0; node < free.size(); ++node) {
      if (free[node] <= 0) continue;
      if (best == free.size()) {
        best = node;
        continue;
      }
      const bool fits = free[node] >= left;
      const bool best_fits = free[best] >= left;
      // The smallest that takes it all, or else the largest.
      if (fits != best_fits ? fits : (fits ? free[node] < free[best] : free[node] > free[best]))
        best = node;
    }
    if (best == free.size()) return std::nullopt;
    const std::int32_t taken = std::min(left, free[best]);
    shares.push_back({static_cast<std::uint32_t>(best), static_cast<std::uint32_t>(taken)});
    free[best] = 0;
    left -= taken;
  }
  return shares;
}

FreeProfile::FreeProfile(SimTime now, std::vector<std::int32_t> free) {
  std::int64_t all = 0;
  for (const std::int32_t cores : free) all += cores;
  steps_.push_back({.from = now, .free = std::move(free), .all = all});
}

std::size_t FreeProfile::step_at(SimTime time) {
  const auto after = std::ranges::upper_bound(steps_, time, {}, &Step::from);
  assert(after != steps_.begin());
  const auto place = static_cast<std::size_t>(after - steps_.begin());
  if (steps_[place - 1].from == time) return place - 1;
  Step step = steps_[place - 1];
  step.from = time;
  steps_.insert(after, std::move(step));
  return place;
}

void FreeProfile::add(SimTime from, std::optional<SimTime> until, std::uint32_t node,
                      std::int32_t cores) {
  from = std::max(from, steps_.front().from);
  if (until && *until <= from) return;
  const std::size_t first = step_at(from);
  const std::size_t last = until ? step_at(*until) : steps_.size();
  for (std::size_t i = first; i < last; ++i) {
    steps_[i].free[node] += cores;
    steps_[i].all += cores;
  }
}

void FreeProfile::release(SimTime from, NodeShare share) {
  add(from, std::nullopt, share.node, static_cast<std::int32_t>(share.cores));
}

void FreeProfile::take(SimTime from, SimTime until, NodeShare share) {
  add(from, until, share.node, -static_cast<std::int32_t>(share.cores));
}

std::optional<FreeProfile::Plan> FreeProfile::earliest(std::uint32_t cores, SimTime length,
                                                       SimTime latest) const {
  const auto wanted = static_cast<std::int64_t>(cores);
  for (std::size_t i = 0; i < steps_.size() && steps_[i].from <= latest; ++i) {
    if (steps_[i].all < wanted) continue;
    const SimTime until = steps_[i].from + length;
    bool possible = true;
    for (std::size_t j = i + 1; possible && j < steps_.size() && steps_[j].from < until; ++j)
      possible = steps_[j].all >= wanted;
    if (!possible) continue;
    if (auto shares = choose_nodes(least_free(steps_[i].from, until), cores))
      return Plan{.start = steps_[i].from, .shares = std::move(*shares)};
  }
  return std::nullopt;
}

std::vector<std::int32_t> FreeProfile::least_free(SimTime from, SimTime until) const {
  auto step = std::ranges::upper_bound(steps_, from, {}, &Step::from);
  if (step != steps_.begin()) --step;
  std::vector<std::int32_t> least = step->free;
  for (++step; step != steps_.end() && step->from < until; ++step)
    for (std::size_t node = 0; node < least.size(); ++node)
      least[node] = std::min(least[node], step->free[node]);
  return least;
}

std::int32_t FreeProfile::least_free(std::uint32_t node, SimTime from, SimTime until) const {
  auto step = std::ranges::upper_bound(steps_, from, {}, &Step::from);
  if (step != steps_.begin()) --step;
  std::int32_t least = step->free[node];
  for (++step; step != steps_.end() && step->from < until; ++step)
    least = std::min(least, step->free[node]);
  return least;
}

std::optional<SimTime> FreeProfile::falls_below(std::uint32_t node, std::int32_t cores) const {
  for (const Step& step : steps_)
    if (step.free[node] < cores) return step.from;
  return std::nullopt;
}

}  // namespace orchid::utilisation
