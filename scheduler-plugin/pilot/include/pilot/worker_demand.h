// pilot/worker_demand.h: the workers that have found no place, by what they need, and how many of
// them something has room for. Plain functions over plain data.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/units.h"

namespace orchid::pilot {

/// What one worker needs.
struct WorkerSize {
  std::uint32_t cores = 1;  // at least 1
  ByteCount memory{};       // 0: whatever there is
  std::uint32_t gpus = 0;
  std::string gpu_model{};  // empty: any
  friend bool operator==(const WorkerSize&, const WorkerSize&) = default;
};

/// What its host must be like. Empty: anything will do.
struct HostWish {
  std::string host{};  // name
  std::string architecture{};
  std::string kind{};                   // "cpu", "gpu", "dpu"
  std::vector<std::string> features{};  // all of them
  friend bool operator==(const HostWish&, const HostWish&) = default;
};

/// Workers that are wanted alike.
struct WorkerDemand {
  std::uint32_t workers = 1;
  std::vector<WorkerSize> alternatives{WorkerSize{}};  // any will do, the best first; one at least
  HostWish host{};
  std::chrono::seconds lifetime{0};  // their pilot lasts so much longer, at least
};

/// A node of the batch system, as a whole.
struct Node {
  std::string name;
  std::uint32_t cores = 0;
  std::optional<ByteCount> memory{};  // nothing: not known
  std::vector<std::string> gpus{};    // the model of each
  std::string architecture{};
  std::string kind{};
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
[[nodiscard]] std::uint32_t workers_in(const Room& room, const WorkerSize& size);
/// `workers` of them are taken out of it; it has room for them.
void take(Room& room, const WorkerSize& size, std::uint32_t workers);
[[nodiscard]] bool suits(const HostWish& wish, const Node& node);

/// Nothing, or why no node could ever have such a worker, for people.
[[nodiscard]] std::optional<std::string> why_on_no_node(const HostWish& wish,
                                                        const WorkerSize& size,
                                                        const std::vector<Node>& nodes);
/// "workers of 4 cores, 1 GiB, on a host with the feature fast".
[[nodiscard]] std::string to_string(const WorkerDemand& demand);

}  // namespace orchid::pilot
