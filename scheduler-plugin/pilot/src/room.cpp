#include "pilot/room.h"

#include <algorithm>
#include <set>

namespace orchid::pilot {
namespace {

bool has_all(const std::vector<std::string>& some, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& feature) {
    return std::ranges::find(some, feature) != some.end();
  });
}

bool is_model(const std::string& model, const WorkerShape& shape) {
  return shape.gpu_model.empty() || shape.gpu_model == model;
}

}  // namespace

Room room_of(const Node& node) {
  return {.cores = node.cores, .memory = node.memory, .gpus = node.gpus};
}

std::uint32_t workers_in(const Room& room, const WorkerShape& shape) {
  std::uint64_t workers = room.cores / std::max(shape.cores, 1U);
  if (room.memory && shape.memory.value > 0)
    workers = std::min(workers, room.memory->value / shape.memory.value);
  if (shape.gpus > 0)
    workers = std::min<std::uint64_t>(
        workers, static_cast<std::uint64_t>(std::ranges::count_if(
                     room.gpus, [&](const std::string& model) { return is_model(model, shape); })) /
                     shape.gpus);
  return static_cast<std::uint32_t>(workers);
}

void take(Room& room, const WorkerShape& shape, std::uint32_t workers) {
  room.cores -= workers * shape.cores;
  if (room.memory) room.memory->value -= workers * shape.memory.value;
  for (std::uint32_t gpus = workers * shape.gpus; gpus > 0; --gpus)
    room.gpus.erase(std::ranges::find_if(
        room.gpus, [&](const std::string& model) { return is_model(model, shape); }));
}

bool suits(const WorkerRequest& worker, const Node& node) {
  // Of the demand only that which their cluster may serve reaches nodes: see situation.h.
  static const std::string cluster;
  return placement::misfit_of({node.name, cluster, node.architecture, node.kind, node.features},
                              worker) == placement::Reason::fits;
}

std::optional<std::string> why_on_no_node(const WorkerRequest& worker, const WorkerShape& shape,
                                          const std::vector<Node>& nodes) {
  if (nodes.empty())
    return "no node is in a partition for pilots that starts jobs now (sinfo says whether it is "
           "up)";
  const auto none = [&](auto fits) { return std::ranges::none_of(nodes, fits); };
  if (!worker.host.empty() && none([&](const Node& node) { return node.name == worker.host; }))
    return "no node that pilots could get is called " + worker.host;
  if (!worker.architecture.empty() &&
      none([&](const Node& node) { return node.architecture == worker.architecture; }))
    return "no node has the architecture " + worker.architecture;
  if (!worker.images.empty()) {
    std::set<std::string> architectures;
    for (const Node& node : nodes) architectures.insert(node.architecture);
    const WorkerRequest any_with_image{.images = worker.images};
    if (none([&](const Node& node) { return suits(any_with_image, node); }))
      return placement::no_image_text({architectures.begin(), architectures.end()}, worker.images);
  }
  if (worker.kind && none([&](const Node& node) { return node.kind == worker.kind; }))
    return "no node is of the kind " + std::string(to_string(*worker.kind));
  for (const std::string& feature : worker.features)
    if (none([&](const Node& node) { return has_all(node.features, {feature}); }))
      return "no node has the feature " + feature;
  if (none([&](const Node& node) { return suits(worker, node); }))
    return "no node has all of these properties";
  if (none([&](const Node& node) {
        return suits(worker, node) && workers_in(room_of(node), shape) > 0;
      }))
    return "no node is large enough";
  return std::nullopt;
}

}  // namespace orchid::pilot
