#include "crew/crew_places.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "protocol/crew.h"

namespace orchid::sdk {
namespace {

auto executor_of(const GrantedWorker& worker) {
  return std::tie(worker.boot_id, worker.lane_socket, worker.lane_address);
}
bool is_here(const GrantedWorker& worker, std::string_view host) {
  return !worker.lane_socket.empty() && (worker.boot_id.empty() || worker.boot_id == host);
}

bool has_data(const GrantedWorker& worker, const DataHolders& holders) {
  if (worker.executor.empty() || holders.executors.empty())
    return std::ranges::find(holders.hosts, worker.node) != holders.hosts.end();
  return std::ranges::find(holders.executors, worker.executor) != holders.executors.end();
}

}  // namespace

CrewPlaces places_of(const LeaseGrant& grant, std::string_view host) {
  CrewPlaces places;
  std::vector<GrantedWorker> workers = grant.workers;
  std::ranges::stable_sort(workers, [&](const GrantedWorker& a, const GrantedWorker& b) {
    const bool first = is_here(a, host);
    const bool second = is_here(b, host);
    return first != second ? first : executor_of(a) < executor_of(b);
  });
  if (workers.empty()) return places;
  const bool has_own = is_here(workers.front(), host);
  const auto own = executor_of(workers.front());
  places.spread = !has_own || std::ranges::any_of(workers, [&](const GrantedWorker& worker) {
    return executor_of(worker) != own;
  });
  if (!places.spread) {
    for (const GrantedWorker& worker : workers) places.seats.push_back({.worker = worker});
    return places;
  }
  for (std::size_t i = 0; i < workers.size(); ++i) {
    CrewPlaces::Seat seat{.worker = workers[i], .member = static_cast<std::uint32_t>(i + 1)};
    seat.is_far = !has_own || executor_of(workers[i]) != own;
    if (!seat.is_far) seat.near.push_back(crew::client_member);
    for (std::size_t other = 0; other < workers.size(); ++other)
      if (executor_of(workers[other]) == executor_of(workers[i]))
        seat.near.push_back(static_cast<std::uint32_t>(other + 1));
    places.seats.push_back(std::move(seat));
  }
  return places;
}

std::uint32_t member_with_data(std::span<const CrewPlaces::Seat* const> seats,
                               const CrewPlaces::Seat& asker, const DataPlace& place) {
  std::vector<std::uint32_t> members;
  for (const CrewPlaces::Seat* seat : seats)
    if (has_data(seat->worker, place.holders) &&
        executor_of(seat->worker) != executor_of(asker.worker))
      members.push_back(seat->member);
  if (members.empty()) return 0;
  std::ranges::sort(members);
  return members[std::hash<std::string_view>()(place.data) % members.size()];
}

}  // namespace orchid::sdk
