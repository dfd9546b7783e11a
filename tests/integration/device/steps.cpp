// Step functions whose batches run on a GPU or on cores: heat in a rod. Their state is an object:
// how many steps were made, how many batches ran on a GPU, and the rod's cells.
#include "kernels.h"
#include "orchid/kernel.hpp"

#if ORCHID_HOST
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "orchid/step.hpp"

namespace {

using Rod = orchid::Stepped<orchid::NewData<double>>;

constexpr std::size_t head = 2;
constexpr std::size_t shown = 64;
constexpr double hot = 100;

/// `items`: that a step has.
std::optional<Rod> batch(orchid::Call& call, const orchid::StepBudget& budget,
                         const orchid::Data<double>& state, std::uint64_t wanted,
                         const orchid::Kernel<RodArgs>& kernel, std::uint64_t items) {
  const std::span<const double> cells = std::span(state.data(), state.size()).subspan(head);
  orchid::DeviceSpan<double> now(call, cells);
  orchid::DeviceSpan<double> next(call, cells.size());
  if (!now || !next) return std::nullopt;
  orchid::Stepper stepper(call, budget);
  double steps = state[0];
  do {
    if (!orchid::launch(call, kernel, items, {now.data(), next.data(), cells.size()}) ||
        !orchid::wait(call))
      return std::nullopt;
    std::swap(now, next);
    ++steps;
  } while (steps < static_cast<double>(wanted) && stepper.next());
  auto room = orchid::Room<double>::create(call, state.size());
  if (!room || !now.copy_to(room->span().subspan(head))) return std::nullopt;
  room->span()[0] = steps;
  room->span()[1] = state[1] + (orchid_device_kind(call.handle()) == ORCHID_DEVICE_GPU ? 1 : 0);
  const auto result = room->as_result(state.size());
  if (!result) return std::nullopt;
  return stepper.give(*result, steps >= static_cast<double>(wanted));
}

}  // namespace

/// Cold, and hot at one end.
std::optional<orchid::NewData<double>> rod(orchid::Call& call, std::uint64_t cells) {
  auto room = orchid::Room<double>::create(call, head + cells);
  if (!room) return std::nullopt;
  room->span()[head] = hot;
  return room->as_result(head + cells);
}
ORCHID_FUNCTION(rod)

std::optional<Rod> relax(orchid::Call& call, orchid::StepBudget budget, orchid::Data<double> state,
                         std::uint64_t wanted) {
  return batch(call, budget, state, wanted, relax_cell, state.size() - head);
}
ORCHID_FUNCTION(relax)

std::optional<Rod> relax_whole(orchid::Call& call, orchid::StepBudget budget,
                               orchid::Data<double> state, std::uint64_t wanted) {
  return batch(call, budget, state, wanted, relax_rod, 1);
}
ORCHID_FUNCTION(relax_whole)

/// The beginning of a state.
std::vector<double> beginning(orchid::Data<double> state) {
  const auto count = std::min(state.size(), head + shown);
  return {state.begin(), state.begin() + static_cast<std::ptrdiff_t>(count)};
}
ORCHID_FUNCTION(beginning)
#endif
