// Where an object is to be: the executor whose memory its room is made in.
#include <algorithm>
#include <chrono>
#include <tuple>

#include "data/data_service.h"
#include "hosts/capacity.h"

namespace orchid::gateway {

bool DataService::is_on_this_host(const Executor& executor) const {
  return executor.host.boot_id == parts_.broker.boot_id();
}

ReachableData DataService::reachable(const DataObject& object, const Executor& executor) const {
  if (is_on_this_host(executor)) return {.object = object, .lane_socket = executor.lane_socket};
  return {.object = object, .lane_socket = {}, .far = executor.id};
}

/// Where the gateway gets to; where it has room; on this host, if there is some, since there the
/// gateway writes by itself; and there where the tenant has most of its data already: calls with
/// several objects need them together. All goes with the grant that it is in: not where that ends
/// within minutes, if there is another.
const Executor* DataService::keeper_for(const DataObject& object, const Making& making) const {
  const Executor* best = nullptr;
  constexpr std::chrono::minutes soon{10};
  const MonotonicTime now = parts_.loop.now();
  std::tuple<bool, bool, bool, bool, std::uint64_t, MonotonicTime, std::uint64_t> best_rank;
  for (const auto& [id, executor] : parts_.broker.hosts().executors()) {
    const bool is_here = is_on_this_host(executor);
    const bool may_keep = executor.data_memory && executor.state == ExecutorState::connected &&
                          executor.ends > now && !executor.grant.draining &&
                          (is_here || (!making.is_here && far_.reaches(executor))) &&
                          (executor.keeps_data || !object.durable) &&
                          Capacity::serves(executor, object.tenant) && !making.asked.contains(id);
    if (!may_keep) continue;
    const std::uint64_t free = Capacity::free_for_data(executor, catalogue_.used_at(id)).value;
    const std::uint64_t own = catalogue_.used_at(id, object.tenant.uid).value;
    const std::tuple rank{is_here || !far_.is_out_of_reach(id),
                          free >= object.bytes.value,
                          is_here,
                          executor.ends - soon > now,
                          own,
                          executor.ends,
                          free};
    if (best != nullptr && rank <= best_rank) continue;
    best = &executor;
    best_rank = rank;
  }
  return best;
}

/// To a host where the gateway cannot let a program write.
bool DataService::could_be_sent(const DataObject& object) const {
  return std::ranges::any_of(parts_.broker.hosts().executors(), [&](const auto& entry) {
    const Executor& executor = entry.second;
    return executor.data_memory && !is_on_this_host(executor) && far_.reaches(executor) &&
           Capacity::serves(executor, object.tenant);
  });
}

Failure DataService::no_keeper(const DataObject& object) const {
  const auto& executors = parts_.broker.hosts().executors();
  const bool any = std::ranges::any_of(executors, [&](const auto& entry) {
    const Executor& executor = entry.second;
    return executor.data_memory && executor.state == ExecutorState::connected &&
           Capacity::serves(executor, object.tenant);
  });
  if (parts_.loop.now() < executors_back_ && !any)
    return {ErrorCode::unreachable,
            "the gateway has just started, and its executors are not back yet: try again"};
  if (!any)
    return {ErrorCode::no_data_memory,
            "no executor that keeps data for you is connected: start one ('orchid up', or "
            "orchid-executor with --data-memory)"};
  if (object.durable && std::ranges::none_of(executors, [&](const auto& entry) {
        return entry.second.state == ExecutorState::connected && entry.second.keeps_data &&
               Capacity::serves(entry.second, object.tenant);
      }))
    return {ErrorCode::unsupported,
            "no executor keeps data as files for you: start one with --data-durable DIRECTORY, or "
            "leave Orchid-Durable out"};
  return {ErrorCode::no_data_memory,
          "no executor that keeps data for you can be given data: those on other hosts than the "
          "gateway's need this release, and --lane-listen with an address that the gateway "
          "reaches"};
}

}  // namespace orchid::gateway
