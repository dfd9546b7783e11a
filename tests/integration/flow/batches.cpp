// Step functions: work in batches, whose state is an object, and the functions around them.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "orchid/step.hpp"

namespace {

constexpr std::uint64_t multiplier = 6364136223846793005U;

void pass(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// On this host or another one.
bool is_there(orchid::Call& call, const std::string& name) {
  const void* bytes = nullptr;
  std::uint64_t size = 0;
  const std::int32_t status = orchid_data_open(call.handle(), name.c_str(), &bytes, &size);
  return status == ORCHID_OK || status == ORCHID_DATA_ELSEWHERE;
}

/// What a walk has come to.
struct Place {
  std::uint64_t steps = 0;
  std::uint64_t number = 0;

  /// Takes some milliseconds.
  void step(std::uint64_t base) {
    pass(std::chrono::milliseconds(10));
    number = number * multiplier + base;
    ++steps;
  }
  [[nodiscard]] std::optional<orchid::NewData<std::uint64_t>> as_data(orchid::Call& call) const {
    auto room = orchid::Room<std::uint64_t>::create(call, 2);
    if (!room) return std::nullopt;
    room->span()[0] = steps;
    room->span()[1] = number;
    return room->as_result(2);
  }
};

}  // namespace

/// What a walk begins with: no steps, and a number.
std::optional<orchid::NewData<std::uint64_t>> start(orchid::Call& call, std::uint64_t number) {
  return Place{.steps = 0, .number = number}.as_data(call);
}
ORCHID_FUNCTION(start)

/// Until there are `wanted` steps in all. `base` is looked at only.
std::optional<orchid::Stepped<orchid::NewData<std::uint64_t>>> walk(
    orchid::Call& call, orchid::StepBudget budget, orchid::Data<std::uint64_t> state,
    orchid::Data<std::uint64_t> base, std::uint64_t wanted) {
  orchid::Stepper stepper(call, budget);
  Place place{.steps = state[0], .number = state[1]};
  do {
    place.step(base[1]);
  } while (place.steps < wanted && stepper.next());
  const auto result = place.as_data(call);
  if (!result) return std::nullopt;
  return stepper.give(*result, place.steps >= wanted);
}
ORCHID_FUNCTION(walk)

/// Until there is a data object of that name.
std::optional<orchid::Stepped<orchid::NewData<std::uint64_t>>> walk_until(
    orchid::Call& call, orchid::StepBudget budget, orchid::Data<std::uint64_t> state,
    orchid::Data<std::uint64_t> base, std::string name) {
  orchid::Stepper stepper(call, budget);
  Place place{.steps = state[0], .number = state[1]};
  do {
    place.step(base[1]);
  } while (stepper.next());
  const auto result = place.as_data(call);
  if (!result) return std::nullopt;
  return stepper.give(*result, is_there(call, name));
}
ORCHID_FUNCTION(walk_until)

std::uint64_t number_of(orchid::Data<std::uint64_t> state) { return state[1]; }
ORCHID_FUNCTION(number_of)

/// Computes for so many milliseconds.
std::uint64_t slow_number_of(orchid::Data<std::uint64_t> state, std::uint64_t milliseconds) {
  pass(std::chrono::milliseconds(milliseconds));
  return state[1];
}
ORCHID_FUNCTION(slow_number_of)

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
