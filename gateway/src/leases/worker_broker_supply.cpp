// worker_broker_supply.cpp: whether there is what dispatchers need, and what to tell them if not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "leases/worker_broker.h"
#include "placement/shape_text.h"

namespace orchid::gateway {
namespace {

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// "1 GPU or 4 cores": what a person would say.
std::string words_of(const placement::WorkerRequest& worker, ByteCount usual_memory) {
  std::vector<std::string> texts;
  for (placement::WorkerShape shape : worker.alternatives) {
    if (shape.memory == usual_memory) shape.memory = {};
    constexpr std::string_view one_core = "1 core, ";
    std::string text = to_string(shape);
    if (shape.gpus > 0 && text.starts_with(one_core)) text.erase(0, one_core.size());
    texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, " or "));
}

}  // namespace

TellSupply WorkerBroker::supply_for(HolderId id, const placement::WorkerRequest& worker) const {
  TellSupply supply{.holder = id, .exists = options_.grows};
  const Executor* largest = nullptr;
  std::size_t gpus = 0;
  for (const auto& [executor_id, executor] : hosts_.executors()) {
    if (supply.exists) return supply;
    if (executor.state != ExecutorState::connected || !fits(executor, worker)) continue;
    supply.exists = could_give(executor, worker);
    gpus = std::max(gpus, executor.host.gpus.size());
    if (largest == nullptr || executor.host.cores.size() > largest->host.cores.size())
      largest = &executor;
  }
  if (supply.exists || largest == nullptr) return supply;
  supply.missing =
      fmt::format("needs {}; the largest host offers {}", words_of(worker, options_.worker_memory),
                  counted(largest->host.cores.size(), "core"));
  const auto any = [&](auto wants) { return std::ranges::any_of(worker.alternatives, wants); };
  if (any([](const auto& shape) { return shape.gpus > 0; }))
    supply.missing +=
        gpus == 0 ? " and none a GPU" : fmt::format(", and the best one {}", counted(gpus, "GPU"));
  if (any([&](const auto& shape) { return shape.memory > largest->host.memory; }))
    supply.missing += fmt::format(", with {} of memory", to_string(largest->host.memory));
  return supply;
}

}  // namespace orchid::gateway
