#include "pilot/worker_demand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace orchid::pilot {
namespace {

bool has_all(const std::vector<std::string>& some, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& feature) {
    return std::ranges::find(some, feature) != some.end();
  });
}

bool is_model(const std::string& model, const WorkerSize& size) {
  return size.gpu_model.empty() || size.gpu_model == model;
}

std::string size_text(const WorkerSize& size) {
  std::string text = fmt::format("{} core{}", size.cores, size.cores == 1 ? "" : "s");
  if (size.gpus > 0)
    text += fmt::format(", {} GPU{}{}{}", size.gpus, size.gpus == 1 ? "" : "s",
                        size.gpu_model.empty() ? "" : " ", size.gpu_model);
  if (size.memory.value > 0) text += ", " + to_string(size.memory);
  return text;
}

}  // namespace

Room room_of(const Node& node) {
  return {.cores = node.cores, .memory = node.memory, .gpus = node.gpus};
}

std::uint32_t workers_in(const Room& room, const WorkerSize& size) {
  std::uint64_t workers = room.cores / std::max(size.cores, 1U);
  if (room.memory && size.memory.value > 0)
    workers = std::min(workers, room.memory->value / size.memory.value);
  if (size.gpus > 0)
    workers = std::min<std::uint64_t>(
        workers, static_cast<std::uint64_t>(std::ranges::count_if(
                     room.gpus, [&](const std::string& model) { return is_model(model, size); })) /
                     size.gpus);
  return static_cast<std::uint32_t>(workers);
}

void take(Room& room, const WorkerSize& size, std::uint32_t workers) {
  room.cores -= workers * size.cores;
  if (room.memory) room.memory->value -= workers * size.memory.value;
  for (std::uint32_t gpus = workers * size.gpus; gpus > 0; --gpus)
    room.gpus.erase(std::ranges::find_if(
        room.gpus, [&](const std::string& model) { return is_model(model, size); }));
}

bool suits(const HostWish& wish, const Node& node) {
  return (wish.host.empty() || wish.host == node.name) &&
         (wish.architecture.empty() || wish.architecture == node.architecture) &&
         (wish.kind.empty() || wish.kind == node.kind) && has_all(node.features, wish.features);
}

std::optional<std::string> why_on_no_node(const HostWish& wish, const WorkerSize& size,
                                          const std::vector<Node>& nodes) {
  if (nodes.empty())
    return "no node is in a partition for pilots that starts jobs now (sinfo says whether it is "
           "up)";
  const auto none = [&](auto fits) { return std::ranges::none_of(nodes, fits); };
  if (!wish.host.empty() && none([&](const Node& node) { return node.name == wish.host; }))
    return "no node that pilots could get is called " + wish.host;
  if (!wish.architecture.empty() &&
      none([&](const Node& node) { return node.architecture == wish.architecture; }))
    return "no node has the architecture " + wish.architecture;
  if (!wish.kind.empty() && none([&](const Node& node) { return node.kind == wish.kind; }))
    return "no node is of the kind " + wish.kind;
  for (const std::string& feature : wish.features)
    if (none([&](const Node& node) { return has_all(node.features, {feature}); }))
      return "no node has the feature " + feature;
  if (none([&](const Node& node) { return suits(wish, node); })) return "no node has all of that";
  if (none([&](const Node& node) {
        return suits(wish, node) && workers_in(room_of(node), size) > 0;
      }))
    return "no node is so large";
  return std::nullopt;
}

std::string to_string(const WorkerDemand& demand) {
  std::vector<std::string> sizes;
  for (const WorkerSize& size : demand.alternatives) sizes.push_back(size_text(size));
  std::string text = fmt::format("workers of {}", fmt::join(sizes, ", or of "));
  const HostWish& wish = demand.host;
  if (!wish.host.empty()) text += ", on the host " + wish.host;
  if (!wish.kind.empty()) text += ", on a host of the kind " + wish.kind;
  if (!wish.architecture.empty()) text += ", on " + wish.architecture;
  if (!wish.features.empty())
    text += fmt::format(", on a host with the feature{} {}", wish.features.size() == 1 ? "" : "s",
                        fmt::join(wish.features, ", "));
  if (demand.lifetime.count() > 0) text += fmt::format(", for {} s", demand.lifetime.count());
  return text;
}

}  // namespace orchid::pilot
