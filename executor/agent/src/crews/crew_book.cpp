#include "crews/crew_book.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "foundation/log.h"

namespace orchid::executor {

std::uint32_t CrewBook::free_number(const Crew& crew) {
  std::uint32_t number = 1;
  while (std::ranges::any_of(crew.seats,
                             [number](const auto& entry) { return entry.second.number == number; }))
    ++number;
  return number;
}

bool CrewBook::join(const Member& member, const Seating& seating, WorkerPool::Taken taken) {
  Crew& crew = crews_[member.crew];
  if (!crew.seats.empty() && (crew.members != seating.members || crew.near != seating.near))
    return false;
  crew.members = seating.members;
  crew.near = seating.near;
  if (!crew.seats.contains(member.lease)) {
    if (crew.seats.size() == crew.here()) return false;
    const std::uint32_t number = seating.member != 0 ? seating.member : free_number(crew);
    if (std::ranges::any_of(crew.seats,
                            [&](const auto& entry) { return entry.second.number == number; }))
      return false;
    crew.seats[member.lease].number = number;
  }
  Seat& seat = crew.seats[member.lease];
  seat.taken = std::move(taken);
  seat.worker.reset();
  form(member.crew);
  return true;
}

/// All workers of the last time have ended by then: their members wait only after that.
void CrewBook::form(const LeaseId& id) {
  Crew& crew = crews_.at(id);
  const bool complete = crew.seats.size() == crew.here() && crew.forming == 0 &&
                        crew.retry == nullptr &&
                        std::ranges::all_of(crew.seats, [](const auto& entry) {
                          return entry.second.taken != nullptr && entry.second.worker == nullptr;
                        });
  if (!complete) return;
  crew.forming = ++attempts_;
  auto made = transport::make_crew_wires(crew.members);
  if (!made) {
    log::error("event=crew_not_formed lease={} reason=\"{}\"", to_string(id), made.error().message);
    return give_up(id);
  }
  const auto wires = std::make_shared<const transport::CrewWires>(std::move(*made));
  for (const auto& [lease, seat] : crew.seats)
    workers_.bear(
        {.place = {.member = seat.number, .members = crew.members, .near = crew.near},
         .wires = wires},
        [this, member = Member{id, lease}, attempt = crew.forming](
            std::shared_ptr<WorkerProcess> worker) { born(member, attempt, std::move(worker)); });
}

/// `worker` null: it was not born, or has ended already.
void CrewBook::born(const Member& member, std::uint64_t attempt,
                    std::shared_ptr<WorkerProcess> worker) {
  const auto found = crews_.find(member.crew);
  if (found == crews_.end() || found->second.forming != attempt) {
    if (worker != nullptr) worker->kill(KillReason::released);
    return;
  }
  if (worker == nullptr) return give_up(member.crew);
  // Until its member has it, and looks after its end.
  workers_.on_end(*worker, [this, member, attempt](const ChildEvent&) {
    const auto crew = crews_.find(member.crew);
    if (crew != crews_.end() && crew->second.forming == attempt) give_up(member.crew);
  });
  Crew& crew = found->second;
  crew.seats.at(member.lease).worker = std::move(worker);
  if (std::ranges::all_of(crew.seats,
                          [](const auto& entry) { return entry.second.worker != nullptr; }))
    hand_over(member.crew);
}

/// A member may leave while the others are told.
void CrewBook::hand_over(const LeaseId& id) {
  Crew& crew = crews_.at(id);
  crew.forming = 0;
  crew.pause = shortest_pause;
  std::vector<std::pair<WorkerPool::Taken, std::shared_ptr<WorkerProcess>>> ready;
  for (auto& [lease, seat] : crew.seats)
    ready.emplace_back(std::exchange(seat.taken, nullptr), seat.worker);
  log::info("event=crew_formed lease={} members={} here={}", to_string(id), crew.members,
            crew.seats.size());
  for (auto& [taken, worker] : ready) taken(worker);
}

void CrewBook::end_workers(Crew& crew) {
  for (auto& [lease, seat] : crew.seats)
    if (seat.worker != nullptr) seat.worker->kill(KillReason::crew);
}

/// What was born so far is of no use. Its members still wait.
void CrewBook::give_up(const LeaseId& id) {
  Crew& crew = crews_.at(id);
  crew.forming = 0;
  end_workers(crew);
  for (auto& [lease, seat] : crew.seats)
    if (seat.taken != nullptr) seat.worker.reset();
  log::warn("event=crew_births_failed lease={} again_in_ms={}", to_string(id), crew.pause.count());
  crew.retry = std::make_unique<boost::asio::steady_timer>(io_, crew.pause);
  crew.pause = std::min(2 * crew.pause, longest_pause);
  crew.retry->async_wait([this, id](const boost::system::error_code& error) {
    if (error) return;
    const auto found = crews_.find(id);
    if (found == crews_.end()) return;
    found->second.retry.reset();
    form(id);
  });
}

void CrewBook::lost(const Member& member) {
  const auto found = crews_.find(member.crew);
  if (found == crews_.end()) return;
  if (const auto seat = found->second.seats.find(member.lease); seat != found->second.seats.end())
    seat->second.worker.reset();
  end_workers(found->second);
}

void CrewBook::leave(const Member& member) {
  const auto found = crews_.find(member.crew);
  if (found == crews_.end()) return;
  Crew& crew = found->second;
  if (crew.forming != 0) {
    crew.forming = 0;
    end_workers(crew);
    for (auto& [lease, seat] : crew.seats) seat.worker.reset();
  }
  crew.seats.erase(member.lease);
  end_workers(crew);
  if (crew.seats.empty()) crews_.erase(found);
}

}  // namespace orchid::executor
