// pilot/room.h: nodes, what of them can be given to workers, and for how many workers that is
// enough. Plain functions over plain data.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/worker_request.h"

namespace orchid::pilot {

using placement::HostKind;
using placement::WorkerDemand;
using placement::WorkerRequest;
using placement::WorkerShape;

/// A node of the batch system, as a whole.
struct Node {
  std::string name;
  std::uint32_t cores = 0;
  std::optional<ByteCount> memory{};  // nothing: not known
  std::vector<std::string> gpus{};    // the model of each
  std::string architecture{};
  std::optional<HostKind> kind{};  // nothing: not known
  std::vector<std::string> features{};
};

/// What can be given to workers.
struct Room {
  std::uint32_t cores = 0;
  std::optional<ByteCount> memory{};  // nothing: not known, enough
  std::vector<std::string> gpus{};    // the model of each
};

[[nodiscard]] Room room_of(const Node& node);
/// How many such workers it has room for.
[[nodiscard]] std::uint32_t workers_in(const Room& room, const WorkerShape& shape);
/// `workers` of them are taken out of it; it has room for them.
void take(Room& room, const WorkerShape& shape, std::uint32_t workers);
/// Whether the node meets the constraints that a host meets for good.
[[nodiscard]] bool suits(const WorkerRequest& worker, const Node& node);

/// Nothing, or why no node could ever have such a worker, for people.
[[nodiscard]] std::optional<std::string> why_on_no_node(const WorkerRequest& worker,
                                                        const WorkerShape& shape,
                                                        const std::vector<Node>& nodes);

}  // namespace orchid::pilot
