#include "optimiser_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "foundation/numbers.h"

namespace orchid::flow {
namespace {

constexpr std::array<std::string_view, 6> known{"speed",  "granularity", "power",
                                                "device", "prefetch",    "grid"};
constexpr std::size_t most_optimisers = 8;
constexpr std::uint32_t most_watts = 1'000'000;

std::vector<std::pair<Word, Word>> options_of(const Item& item, const std::string& what,
                                              FaultList& faults) {
  const Fields fields(item, what, faults);  // it must be a map, with each name once
  std::vector<std::pair<Word, Word>> options;
  for (const auto& [name, value] : item.fields)
    options.emplace_back(name,
                         word_of(value, fmt::format("option '{}' of {}", name.text, what), faults));
  return options;
}

void check_options(const OptimiserChoice& choice, FaultList& faults) {
  const bool has_watts = choice.name.text == "power";
  bool watts = false;
  for (const auto& [name, value] : choice.options) {
    if (!has_watts || (name.text != "watts" && name.text != "watts_per_core")) {
      faults.add(name.place,
                 fmt::format("optimiser '{}' has no option '{}'", choice.name.text, name.text));
      continue;
    }
    watts = watts || name.text == "watts";
    const auto number = parse_number<std::uint32_t>(value.text);
    if (!number || *number == 0 || *number > most_watts)
      faults.add(value.place,
                 fmt::format("'{}' must be a whole number from 1 to {}", name.text, most_watts));
  }
  if (has_watts && !watts)
    faults.add(choice.name.place, "optimiser 'power' needs a bound, such as {power: {watts: 120}}");
}

void check(const OptimiserChoice& choice, FaultList& faults) {
  if (choice.is_library() || choice.name.text.empty()) return;
  if (std::ranges::find(known, choice.name.text) == known.end()) {
    faults.add(choice.name.place,
               fmt::format("there is no optimiser '{}'; there are: {}; a library of your own is "
                           "named by its path, such as ./{}.so",
                           choice.name.text, fmt::join(known, ", "), choice.name.text));
  } else {
    check_options(choice, faults);
  }
}

OptimiserChoice choice_of(const Item& item, FaultList& faults) {
  if (item.kind != ItemKind::map)
    return {.name = word_of(item, "an optimiser", faults), .options = {}};
  if (item.fields.size() != 1) {
    faults.add(item.place, "an optimiser with options is written as {NAME: {OPTION: VALUE}}");
    return {};
  }
  const auto& [name, value] = item.fields.front();
  return {.name = name,
          .options = options_of(value, fmt::format("optimiser '{}'", name.text), faults)};
}

}  // namespace

std::vector<OptimiserChoice> read_optimisers(const Item& item, FaultList& faults) {
  std::vector<OptimiserChoice> choices;
  if (item.kind != ItemKind::list) {
    faults.add(item.place, "'optimise' must be a list, such as [speed, granularity]");
    return choices;
  }
  for (const Item& element : item.elements) {
    OptimiserChoice choice = choice_of(element, faults);
    const auto same = [&](const OptimiserChoice& other) {
      return other.name.text == choice.name.text;
    };
    if (std::ranges::any_of(choices, same))
      faults.add(choice.name.place,
                 fmt::format("optimiser '{}' is there twice; take one away", choice.name.text));
    check(choice, faults);
    choices.push_back(std::move(choice));
  }
  if (choices.size() > most_optimisers)
    faults.add(item.place, fmt::format("a flow has {} optimisers at most", most_optimisers));
  return choices;
}

}  // namespace orchid::flow
