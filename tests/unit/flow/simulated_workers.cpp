#include "simulated_workers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <queue>
#include <utility>

#include "flow_under_test.h"

namespace orchid::flow {
namespace {

Time time_of(double seconds) {
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
}

class Simulation {
 public:
  Simulation(const Plan& plan, const std::vector<Value>& inputs, const SimulatedWorkers& workers,
             std::vector<std::unique_ptr<Optimiser>> optimisers)
      : workers_(workers),
        count_(static_cast<std::uint32_t>(workers.speeds.size() + workers.gpu_speeds.size())),
        window_(count_ + workers.ahead),
        engine_(Engine::start(plan, inputs, {.window = window_}).value()),
        tuner_(plan, std::move(optimisers)) {
    for (std::size_t i = 0; i < workers.speeds.size(); ++i) idle_.push_back(i);
    for (std::size_t i = 0; i < workers.gpu_speeds.size(); ++i)
      idle_gpus_.push_back(workers.speeds.size() + i);
    if (workers.gpu_speeds.empty()) return;
    const auto cores = static_cast<std::uint32_t>(workers.speeds.size());
    const auto gpus = static_cast<std::uint32_t>(workers.gpu_speeds.size());
    tuner_.set_hosts(
        {{.name = "a", .kind = "cpu", .cores = cores, .cores_free = cores},
         {.name = "b", .kind = "gpu", .cores = gpus, .cores_free = gpus, .gpus_free = gpus}});
  }

  [[nodiscard]] Tuner& tuner() { return tuner_; }

  SimulatedRun run(const std::optional<Decided>& before) {
    if (before) tell(*before);
    tell(Tick{});
    while (engine_.outcome() == FlowOutcome::running) {
      decide();
      REQUIRE_FALSE(running_.empty());
      Running next = running_.top();
      running_.pop();
      now_ = next.end;
      (next.worker < workers_.speeds.size() ? idle_ : idle_gpus_).push_back(next.worker);
      Answered answer = answer_to(next.call);
      answer.run_time = next.run_time;
      tell(std::move(answer));
    }
    REQUIRE(engine_.outcome() == FlowOutcome::done);
    result_.why = tuner_.why(0);
    result_.seconds = std::chrono::duration<double>(now_).count();
    return result_;
  }

 private:
  struct Running {
    Time end{};
    Time run_time{};
    std::size_t worker = 0;
    StartCall call;
    bool operator<(const Running& other) const { return end > other.end; }
  };

  void tell(Event event) {
    tuner_.see(event, now_);
    for (Action& action : engine_.apply(std::move(event), now_)) {
      tuner_.see(action, now_);
      if (auto* start = std::get_if<StartCall>(&action)) waiting_.push_back(std::move(*start));
    }
    hand_out();
  }

  void decide() {
    const auto decided = tuner_.decide(engine_, {.workers = count_, .window = window_}, now_);
    if (!decided) return;
    ++result_.decisions;
    tell(*decided);
  }

  void hand_out() {
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      const bool on_gpu =
          next->device == Device::gpu || (next->device == Device::any && !idle_gpus_.empty());
      std::deque<std::size_t>& idle = on_gpu ? idle_gpus_ : idle_;
      if (idle.empty()) {
        ++next;
        continue;
      }
      const std::size_t worker = idle.front();
      idle.pop_front();
      StartCall call = std::move(*next);
      next = waiting_.erase(next);
      double seconds = 0;
      for (std::uint64_t i = 0; i < call.pieces; ++i)
        seconds += workers_.piece_seconds(call.node, call.work.index + i);
      if (workers_.factor) seconds *= workers_.factor(call.function->function);
      const Time run_time = time_of(seconds / speed_of(worker));
      running_.push({.end = now_ + run_time + time_of(workers_.call_seconds),
                     .run_time = run_time,
                     .worker = worker,
                     .call = std::move(call)});
      ++result_.calls;
    }
  }

  [[nodiscard]] double speed_of(std::size_t worker) const {
    const std::size_t cores = workers_.speeds.size();
    return worker < cores ? workers_.speeds[worker] : workers_.gpu_speeds[worker - cores];
  }

  const SimulatedWorkers& workers_;
  std::uint32_t count_;
  std::uint32_t window_;
  Engine engine_;
  Tuner tuner_;
  Time now_{};
  std::deque<StartCall> waiting_;
  std::deque<std::size_t> idle_;
  std::deque<std::size_t> idle_gpus_;
  std::priority_queue<Running> running_;
  SimulatedRun result_;
};

}  // namespace

SimulatedRun simulate(const Plan& plan, const std::vector<Value>& inputs,
                      const SimulatedWorkers& workers,
                      std::vector<std::unique_ptr<Optimiser>> optimisers,
                      const std::optional<Decided>& before, const std::vector<KeptVariants>& kept,
                      std::vector<KeptVariants>* learned) {
  Simulation simulation(plan, inputs, workers, std::move(optimisers));
  simulation.tuner().set_kept(kept);
  SimulatedRun run = simulation.run(before);
  if (learned != nullptr) *learned = simulation.tuner().learned();
  return run;
}

}  // namespace orchid::flow
