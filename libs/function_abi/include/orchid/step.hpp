// orchid/step.hpp: step functions in C++ (C++20), as orchid/step.h has them in C: an `iterate` node
// of a flow calls one in batches.
//
//     orchid::Stepped<double> halve(orchid::Call& call, orchid::StepBudget budget, double value) {
//       orchid::Stepper stepper(call, budget);
//       do value /= 2;
//       while (value > 1 && stepper.next());
//       return stepper.give(value, value <= 1);
//     }
//     ORCHID_FUNCTION(halve)
//
// The state may be a data object: a parameter orchid::Data<T>, and Stepped<orchid::NewData<T>>.
#pragma once
#include <cstdint>
#include <utility>

#include "orchid/function.hpp"
#include "orchid/step.h"

namespace orchid {

/// How much the next batch may do. 0: no such bound.
struct StepBudget {
  std::uint64_t ns = 0;
  std::uint64_t steps = 0;
};
ORCHID_STRUCT(StepBudget, ns, steps)

/// What a batch gives: the state that it has come to, and whether there is nothing more to do.
template <typename State>
class Stepped {
 public:
  using OrchidStepState = State;
  Stepped(State state, bool done, std::uint64_t steps)
      : state_(std::move(state)), done_(done), steps_(steps) {}
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  State state_;
  bool done_;
  std::uint64_t steps_;
};

/// What is left of the budget of the running batch. Lives as long as the call; used on its thread.
class Stepper {
 public:
  Stepper(Call& call, const StepBudget& budget) {
    const orchid_step_budget given{budget.ns, budget.steps};
    orchid_step_start(&stepper_, call.handle(), &given);
  }
  /// After each step: it is counted. False: return what there is; see orchid_step_next.
  [[nodiscard]] bool next() { return orchid_step_next(&stepper_) != 0; }
  [[nodiscard]] std::uint64_t steps() const { return stepper_.steps; }
  template <typename State>
  [[nodiscard]] Stepped<State> give(State state, bool done) const {
    return Stepped<State>(std::move(state), done, stepper_.steps);
  }

 private:
  orchid_stepper stepper_{};
};

}  // namespace orchid
