#include "variant_book.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace orchid::flow {
namespace {

/// Calls that the level follows, and that a comparison is made of, at most: small differences need
/// many where times spread.
constexpr double level_memory = 32;
constexpr double longest_memory = 400;
/// A call that takes longer by more than this has met a slow worker, or was disturbed.
constexpr double longest_outlier = 2;
/// What was learned in other flows counts for no more: their pieces may have been others.
constexpr double most_kept_calls = 8;
constexpr std::size_t most_early = 64;
/// Before anything is known of it: a deviation of a fifth, as of so many calls.
constexpr double usual_variance = 0.04;
constexpr double usual_count = 2;

double weight_after(double calls, double memory) { return std::max(1 / (calls + 1), 1 / memory); }

const KeptVariants* find_kept(const std::vector<KeptVariants>& kept,
                              const std::vector<std::string>& functions, Device device) {
  const auto found = std::ranges::find_if(kept, [&](const KeptVariants& one) {
    return one.device == device && one.functions == functions && one.all.size() == functions.size();
  });
  return found == kept.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::uint32_t> VariantBook::number_of(std::uint32_t node,
                                                    const PlannedCall* call) const {
  const PlannedNode& planned = plan_.nodes[node];
  if (!planned.chooses_variant) return std::nullopt;
  if (call == &planned.main) return 0;
  for (std::uint32_t i = 0; i < planned.variants.size(); ++i)
    if (call == &planned.variants[i]) return i + 1;
  return std::nullopt;
}

std::vector<std::string> VariantBook::exact_names(std::uint32_t node) const {
  const PlannedNode& planned = plan_.nodes[node];
  std::vector<std::string> names{exact_name(plan_, planned.main.function)};
  for (const PlannedCall& variant : planned.variants)
    names.push_back(exact_name(plan_, variant.function));
  return names;
}

VariantBook::Run& VariantBook::run_of(std::uint32_t node, Device device) {
  const auto [place, is_new] = runs_.try_emplace({node, device});
  Run& run = place->second;
  if (!is_new) return run;
  run.all.resize(plan_.nodes[node].variants.size() + 1);
  // Other nodes of this flow may have learned something by now.
  const std::vector<KeptVariants> learned_before = learned();
  const KeptVariants* kept = find_kept(learned_before, exact_names(node), device);
  if (kept == nullptr) kept = find_kept(kept_, exact_names(node), device);
  if (kept == nullptr) {
    run.all[0].relative = 1;
    return run;
  }
  run.kept_level = kept->piece_seconds;
  double best = 0;
  for (std::size_t i = 0; i < run.all.size(); ++i) {
    const auto& [relative, calls] = kept->all[i];
    if (calls == 0 || !std::isfinite(relative) || relative <= 0) continue;
    run.all[i].relative = relative;
    run.all[i].kept_calls = std::min(static_cast<double>(calls), most_kept_calls);
    if (best != 0 && relative >= best) continue;
    best = relative;
    run.usual = static_cast<std::uint32_t>(i);
  }
  if (best == 0) run.all[0].relative = 1;
  return run;
}

void VariantBook::begins(std::uint32_t node, Device device, std::uint32_t variant) {
  ++run_of(node, device).all[variant].open_calls;
}

void VariantBook::ends(std::uint32_t node, Device device, std::uint32_t variant) {
  std::uint32_t& open = run_of(node, device).all[variant].open_calls;
  if (open != 0) --open;
}

void VariantBook::fails(std::uint32_t node, Device device, std::uint32_t variant) {
  if (variant != 0) run_of(node, device).all[variant].has_failed = true;
}

/// A call of one that is not the usual. The least of the first two counts: what disturbs a call
/// makes it longer.
void VariantBook::compare(Run& run, std::uint32_t variant, double piece_seconds) {
  Measure& one = run.all[variant];
  double relative = piece_seconds / run.level;
  const double known = static_cast<double>(one.calls) + one.kept_calls;
  ++one.calls;
  if (known == 0) {
    one.relative = relative;
    return;
  }
  relative = std::min(relative, longest_outlier * one.relative);
  const double deviation = relative / one.relative - 1;
  run.squares += deviation * deviation * known / (known + 1);
  ++run.squares_count;
  if (known == 1)
    one.relative = std::min(one.relative, relative);
  else
    one.relative += weight_after(known, longest_memory) * (relative - one.relative);
}

void VariantBook::learn(std::uint32_t node, Device device, std::uint32_t variant,
                        double piece_seconds) {
  Run& run = run_of(node, device);
  if (!(piece_seconds > 0)) return;
  if (variant != run.usual) {
    if (run.level_calls != 0)
      compare(run, variant, piece_seconds);
    else if (run.early.size() < most_early)
      run.early.emplace_back(variant, piece_seconds);
    return;
  }
  double level = piece_seconds / run.all[variant].relative;
  const auto known = static_cast<double>(run.level_calls);
  if (run.level_calls != 0) {
    level = std::min(level, longest_outlier * run.level);
    const double deviation = level / run.level - 1;
    run.squares += deviation * deviation * known / (known + 1);
    ++run.squares_count;
  }
  run.level +=
      run.level_calls == 0 ? level : weight_after(known, level_memory) * (level - run.level);
  ++run.level_calls;
  ++run.all[variant].calls;
  for (const auto& [number, seconds] : std::exchange(run.early, {})) compare(run, number, seconds);
}

void VariantBook::see(const Advice& said) {
  if (said.node >= plan_.nodes.size() || !plan_.nodes[said.node].chooses_variant) return;
  for (const VariantTurns& turns : said.variants) {
    Run& run = run_of(said.node, turns.device);
    if (turns.usual < run.all.size() && run.all[turns.usual].relative > 0) run.usual = turns.usual;
  }
}

std::vector<VariantChoice> VariantBook::choices_of(std::uint32_t node) {
  std::vector<VariantChoice> choices;
  const PlannedNode& planned = plan_.nodes[node];
  if (!planned.chooses_variant) return choices;
  const auto add = [&](Device device) {
    const Run& run = run_of(node, device);
    VariantChoice choice{.device = device,
                         .usual = run.usual,
                         .piece_seconds = run.level,
                         .spread = std::sqrt((usual_variance * usual_count + run.squares) /
                                             (usual_count + run.squares_count)),
                         .all = {}};
    for (std::uint32_t i = 0; i < run.all.size(); ++i) {
      const Measure& one = run.all[i];
      choice.all.push_back(
          {.function = i == 0 ? planned.main.function : planned.variants[i - 1].function,
           .calls = one.calls,
           .relative = one.relative,
           .samples = std::min(static_cast<double>(one.calls), longest_memory) + one.kept_calls,
           .open_calls = one.open_calls,
           .has_failed = one.has_failed});
    }
    choices.push_back(std::move(choice));
  };
  if (const std::string& wanted = planned.constraints.device; !wanted.empty()) {
    add(wanted == "gpu" ? Device::gpu : Device::cores);
    return choices;
  }
  add(Device::any);
  if (planned.cores_of_call == 0) return choices;
  add(Device::cores);
  add(Device::gpu);
  return choices;
}

std::vector<KeptVariants> VariantBook::learned() const {
  std::map<std::pair<std::vector<std::string>, Device>, KeptVariants> all;
  for (const auto& [place, known_run] : runs_) {
    Run run = known_run;
    // A node that makes one call, and has tried a variant with it.
    if (run.level_calls == 0 && run.kept_level > 0) {
      run.level = run.kept_level;
      for (const auto& [number, seconds] : std::exchange(run.early, {}))
        compare(run, number, seconds);
    }
    if (std::ranges::all_of(run.all, [](const Measure& one) { return one.calls == 0; })) continue;
    std::vector<std::string> names = exact_names(place.first);
    double best = 0;
    for (const Measure& one : run.all)
      if (static_cast<double>(one.calls) + one.kept_calls > 0 && (best == 0 || one.relative < best))
        best = one.relative;
    KeptVariants kept{
        .functions = names, .device = place.second, .piece_seconds = run.level * best, .all = {}};
    std::uint64_t calls = 0;
    for (const Measure& one : run.all) {
      const std::uint64_t count = one.calls + static_cast<std::uint64_t>(one.kept_calls);
      kept.all.push_back({.relative = count == 0 ? 0 : one.relative / best, .calls = count});
      calls += count;
    }
    KeptVariants& former = all[{std::move(names), place.second}];
    std::uint64_t known_calls = 0;
    for (const KeptVariants::One& one : former.all) known_calls += one.calls;
    if (known_calls <= calls) former = std::move(kept);  // the node that has learned more
  }
  std::vector<KeptVariants> list;
  for (auto& [key, kept] : all) list.push_back(std::move(kept));
  return list;
}

}  // namespace orchid::flow
