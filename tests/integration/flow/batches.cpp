// Step functions: work in batches, whose state is an object, and the functions around them.
#include <chrono>
#include <cstdint>
#include <optional>

#include "orchid/step.hpp"

namespace {

constexpr std::uint64_t multiplier = 6364136223846793005U;

void pass(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

/// What a walk begins with: no steps, and a number.
std::optional<orchid::NewData<std::uint64_t>> start(orchid::Call& call, std::uint64_t number) {
  auto room = orchid::Room<std::uint64_t>::create(call, 2);
  if (!room) return std::nullopt;
  room->span()[0] = 0;
  room->span()[1] = number;
  return room->as_result(2);
}
ORCHID_FUNCTION(start)

/// Steps of a few milliseconds each, until there are `wanted` in all. `base` is looked at only.
std::optional<orchid::Stepped<orchid::NewData<std::uint64_t>>> walk(
    orchid::Call& call, orchid::StepBudget budget, orchid::Data<std::uint64_t> state,
    orchid::Data<std::uint64_t> base, std::uint64_t wanted) {
  orchid::Stepper stepper(call, budget);
  std::uint64_t steps = state[0];
  std::uint64_t number = state[1];
  do {
    pass(std::chrono::milliseconds(10));
    number = number * multiplier + base[1];
    ++steps;
  } while (steps < wanted && stepper.next());
  auto room = orchid::Room<std::uint64_t>::create(call, 2);
  if (!room) return std::nullopt;
  room->span()[0] = steps;
  room->span()[1] = number;
  const auto result = room->as_result(2);
  if (!result) return std::nullopt;
  return stepper.give(*result, steps >= wanted);
}
ORCHID_FUNCTION(walk)

std::uint64_t number_of(orchid::Data<std::uint64_t> state) { return state[1]; }
ORCHID_FUNCTION(number_of)

std::uint64_t steps_of(orchid::Data<std::uint64_t> state) { return state[0]; }
ORCHID_FUNCTION(steps_of)

/// A state that is a value, by time: some steps of a millisecond fit into a batch.
orchid::Stepped<std::uint64_t> count(orchid::Call& call, orchid::StepBudget budget,
                                     std::uint64_t counted, std::uint64_t wanted) {
  orchid::Stepper stepper(call, budget);
  do {
    pass(std::chrono::milliseconds(1));
    ++counted;
  } while (counted < wanted && stepper.next());
  return stepper.give(counted, counted >= wanted);
}
ORCHID_FUNCTION(count)
