// Functions of a flow that last for as long as a test wants: each waits for a data object that is
// called by its entry and by its value, or by the thousand that the value is in, which lets all of
// them pass.
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "orchid/step.hpp"

namespace {

constexpr std::uint64_t thousand = 1000;
constexpr std::uint64_t grown_by = 100;  // by each step
constexpr std::uint64_t wanted = 600;    // steps are made until then

bool is_there(orchid::Call& call, const std::string& name) {
  const void* bytes = nullptr;
  std::uint64_t size = 0;
  return orchid_data_open(call.handle(), name.c_str(), &bytes, &size) == ORCHID_OK;
}

/// Who looks sees progress of the call: it has begun. Whoever is cancelled meanwhile is killed.
void wait(orchid::Call& call, const std::string& entry, std::uint64_t value) {
  const std::string own = entry + "-" + std::to_string(value);
  const std::string all = "all-" + std::to_string(value / thousand);
  constexpr double has_begun = 0.5;
  call.progress(has_begun);
  while (!is_there(call, own) && !is_there(call, all))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

std::uint64_t begin(orchid::Call& call, std::uint64_t value) {
  wait(call, "begin", value);
  return value;
}
ORCHID_FUNCTION(begin)

std::vector<std::uint64_t> pieces(orchid::Call& call, std::uint64_t value) {
  wait(call, "pieces", value);
  return {value + 1, value + 2, value + 3};
}
ORCHID_FUNCTION(pieces)

std::uint64_t piece(orchid::Call& call, std::uint64_t value) {
  wait(call, "piece", value);
  return value + 10;
}
ORCHID_FUNCTION(piece)

/// The sum within the thousand.
std::uint64_t join(orchid::Call& call, const std::vector<std::uint64_t>& values) {
  wait(call, "join", values.front());
  std::uint64_t sum = values.front() / thousand * thousand;
  for (const std::uint64_t value : values) sum += value % thousand;
  return sum;
}
ORCHID_FUNCTION(join)

orchid::Stepped<std::uint64_t> walk(orchid::Call& call, orchid::StepBudget budget,
                                    std::uint64_t value) {
  wait(call, "walk", value);
  orchid::Stepper stepper(call, budget);
  do {
    value += grown_by;
  } while (value % thousand < wanted && stepper.next());
  return stepper.give(value, value % thousand >= wanted);
}
ORCHID_FUNCTION(walk)

std::uint64_t finish(orchid::Call& call, std::uint64_t value) {
  wait(call, "finish", value);
  return value;
}
ORCHID_FUNCTION(finish)
