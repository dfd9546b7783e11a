// simulated_workers.h: a flow on workers that are made up: the engine and the tuner as they are,
// and a clock that jumps from one end of a call to the next.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/engine.h"
#include "flow/tuner.h"

namespace orchid::flow {

struct SimulatedWorkers {
  std::vector<double> speeds;  // of each, relative
  /// Of those that have a GPU, on a host of their own; calls without a wish go there first.
  std::vector<double> gpu_speeds{};
  double call_seconds = 0;  // that a call costs beside its run, on its worker
  std::uint32_t ahead = 0;  // calls that are open beyond those that run
  /// What one piece takes on a worker of speed 1; `index` from 0, of the node.
  std::function<double(std::uint32_t node, std::uint64_t index)> piece_seconds;
  /// So many times as long, with this function; empty: all are alike.
  std::function<double(const std::string& function)> factor{};
};

struct SimulatedRun {
  double seconds = 0;
  std::uint64_t calls = 0;
  std::uint64_t decisions = 0;
  std::string why;  // of node 0, at the end
};
/// With the optimisers, or, without one, as decisions before the first call say. `kept` and
/// `learned` as of the tuner.
[[nodiscard]] SimulatedRun simulate(const Plan& plan, const std::vector<Value>& inputs,
                                    const SimulatedWorkers& workers,
                                    std::vector<std::unique_ptr<Optimiser>> optimisers,
                                    const std::optional<Decided>& before = std::nullopt,
                                    const std::vector<KeptVariants>& kept = {},
                                    std::vector<KeptVariants>* learned = nullptr);

}  // namespace orchid::flow
