#include "pilot_places.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

namespace orchid::pilot {
namespace {

using std::chrono::seconds;

/// Of a hole that ends: a pilot as long as the hole would have to start at once.
constexpr seconds start_up{10};

/// What pilots that wait for a node will take of it.
std::map<std::string, Room> promised_rooms(const Situation& situation) {
  std::map<std::string, Room> promised;
  for (const Pilot& pilot : situation.pilots) {
    if (pilot.runs || pilot.node.empty()) continue;
    Room& room = promised.try_emplace(pilot.node, Room{.memory = ByteCount{}}).first->second;
    room.cores += pilot.cores;
    room.memory->value += pilot.memory.value_or(ByteCount{}).value;
    room.gpus.resize(room.gpus.size() + pilot.gpus);
  }
  return promised;
}

/// The hole's GPUs are of its node's models.
Room room_in(const Hole& hole, const Node* node) {
  Room room{.cores = hole.cores, .memory = hole.memory};
  if (node != nullptr) room.gpus = node->gpus;
  room.gpus.resize(hole.gpus);
  return room;
}

void reduce(Room& room, const Room& by) {
  room.cores -= std::min(room.cores, by.cores);
  if (room.memory) room.memory->value -= std::min(room.memory->value, by.memory->value);
  room.gpus.resize(room.gpus.size() - std::min(room.gpus.size(), by.gpus.size()));
}

HostKind kind_with(std::uint32_t gpus) { return gpus > 0 ? HostKind::gpu : HostKind::cpu; }

/// Who waits without a hole says what its node must be like, or which one it is.
bool only_features(const WorkerRequest& worker) {
  return worker == WorkerRequest{.alternatives = worker.alternatives,
                                 .features = worker.features,
                                 .lifetime = worker.lifetime};
}

}  // namespace

const Node* node_of(const Situation& situation, const std::string& name) {
  if (!situation.nodes || name.empty()) return nullptr;
  const auto found = std::ranges::find(*situation.nodes, name, &Node::name);
  return found == situation.nodes->end() ? nullptr : &*found;
}

Room whole_room(const Pilot& pilot) {
  return {.cores = pilot.cores,
          .memory = pilot.memory,
          .gpus = std::vector<std::string>(pilot.gpus, pilot.gpu_model)};
}

Room free_room(const Pilot& pilot) {
  Room room = whole_room(pilot);
  reduce(room, {.cores = pilot.cores_used,
                .memory = pilot.memory_used,
                .gpus = std::vector<std::string>(pilot.gpus_used)});
  return room;
}

bool suits(const WorkerRequest& worker, const Pilot& pilot, const Situation& situation) {
  if (const Node* node = node_of(situation, pilot.node)) return suits(worker, *node);
  return suits(worker,
               Node{.name = pilot.node, .kind = kind_with(pilot.gpus), .features = pilot.features});
}

bool any_left(const std::vector<WorkerDemand>& demand) {
  return std::ranges::any_of(demand, [](const WorkerDemand& row) { return row.workers > 0; });
}

std::vector<Place> places_in_holes(const Situation& situation, const PilotOptions& options) {
  const auto promised = promised_rooms(situation);
  std::unordered_map<std::string_view, const Node*>
      nodes;  // a cluster may have 10 000, and a hole on each
  if (situation.nodes)
    for (const Node& node : *situation.nodes) nodes.emplace(node.name, &node);
  std::map<std::string, Place> by_node;
  for (const Hole& hole : *situation.holes) {
    const auto known = nodes.find(hole.node);
    const Node* node = known == nodes.end() ? nullptr : known->second;
    Place place{.node = node == nullptr ? Node{.name = hole.node} : *node,
                .room = room_in(hole, node),
                .lasts = hole.lasts ? *hole.lasts - start_up : options.longest,
                .pilot = {.node = hole.node}};
    if (const auto taken = promised.find(hole.node); taken != promised.end())
      reduce(place.room, taken->second);
    if (place.lasts < options.shortest || place.room.cores < options.least_cores) continue;
    by_node.try_emplace(hole.node, std::move(place));
  }
  std::vector<Place> places;
  for (auto& [node, place] : by_node) places.push_back(std::move(place));
  std::ranges::stable_sort(places, [](const Place& a, const Place& b) {
    return std::pair(a.lasts, a.room.cores) > std::pair(b.lasts, b.room.cores);
  });
  return places;
}

std::optional<Place> place_to_wait(const WorkerDemand& demand, const Situation& situation,
                                   const PilotOptions& options) {
  Place place{.pilot = {.features = demand.worker.features, .for_hole = false}};
  if (!situation.nodes) {
    place.node = {
        .name = demand.worker.host, .kind = HostKind::cpu, .features = demand.worker.features};
    place.room = {.cores = options.most_cores};
    for (const WorkerShape& size : demand.worker.alternatives)
      if (size.gpus > 0) {
        place.room.gpus.assign(size.gpus, size.gpu_model);
        place.node.kind = HostKind::gpu;
        break;
      }
    place.pilot.node = demand.worker.host;
    return place;
  }
  // As large as the largest of the nodes that will do.
  std::uint32_t most = 0;
  for (const WorkerShape& size : demand.worker.alternatives) {
    for (const Node& node : *situation.nodes) {
      Room room = room_of(node);
      room.cores = std::min(room.cores, options.most_cores);
      const std::uint32_t workers = suits(demand.worker, node) ? workers_in(room, size) : 0;
      if (workers <= most) continue;
      most = workers;
      place.node = node;
      place.room = std::move(room);
    }
    if (most > 0) break;
  }
  if (most == 0) return std::nullopt;
  if (only_features(demand.worker)) {
    place.node = {.name = {}, .features = demand.worker.features};  // nobody knows which it will be
  } else {
    place.pilot.node = place.node.name;
  }
  return place;
}

void fill(Place& place, std::vector<WorkerDemand>& demand, std::size_t number) {
  SubmitPilot& pilot = place.pilot;
  for (WorkerDemand& row : demand) {
    if (row.workers == 0 || number >= row.worker.alternatives.size()) continue;
    if (!suits(row.worker, place.node)) continue;
    if (row.worker.lifetime.count() > 0 && row.worker.lifetime + worker_margin > pilot.time)
      continue;
    const WorkerShape& size = row.worker.alternatives[number];
    if (pilot.gpus > 0 && size.gpus > 0 && size.gpu_model != pilot.gpu_model) continue;
    const std::uint32_t workers = std::min(row.workers, workers_in(place.room, size));
    if (workers == 0) continue;
    take(place.room, size, workers);
    row.workers -= workers;
    pilot.cores += workers * size.cores;
    pilot.memory.value += workers * size.memory.value;
    pilot.gpus += workers * size.gpus;
    if (size.gpus > 0) pilot.gpu_model = size.gpu_model;
  }
}

void round_up(Place& place, const PilotOptions& options) {
  SubmitPilot& pilot = place.pilot;
  const std::uint32_t more = std::max(pilot.cores, options.least_cores) - pilot.cores;
  pilot.cores += std::min(more, place.room.cores);
  std::uint64_t memory = options.memory_per_core.value * pilot.cores;
  if (place.room.memory) memory = std::min(memory, pilot.memory.value + place.room.memory->value);
  pilot.memory.value = std::max(pilot.memory.value, memory);
}

}  // namespace orchid::pilot
