#include "pilot/pilot_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "pilot_places.h"

namespace orchid::pilot {
namespace {

using std::chrono::seconds;

/// Workers of a pilot that has ended are on others by then.
constexpr seconds moved_within{10};

/// What pilots can take of workers, and each of these pilots.
struct PilotRoom {
  const Pilot* pilot;
  Room room;
};

/// Of each row that much is left which these pilots will not take.
void subtract(std::vector<WorkerDemand>& demand, std::vector<PilotRoom>& rooms,
              const Situation& situation, MonotonicTime now) {
  for (WorkerDemand& row : demand)
    for (PilotRoom& one : rooms) {
      const std::optional<MonotonicTime>& ends = one.pilot->ends;
      if (row.worker.lifetime.count() > 0 && ends && *ends - now < row.worker.lifetime) continue;
      if (!suits(row.worker, *one.pilot, situation)) continue;
      for (const WorkerShape& size : row.worker.alternatives) {
        const std::uint32_t workers = std::min(row.workers, workers_in(one.room, size));
        take(one.room, size, workers);
        row.workers -= workers;
      }
    }
}

/// The widest first: what is left holds narrow ones still.
void sort_by_width(std::vector<WorkerDemand>& demand) {
  std::ranges::stable_sort(demand, [](const WorkerDemand& a, const WorkerDemand& b) {
    const WorkerShape& left = a.worker.alternatives.front();
    const WorkerShape& right = b.worker.alternatives.front();
    return std::tuple(left.gpus, left.cores, left.memory) >
           std::tuple(right.gpus, right.cores, right.memory);
  });
}

/// The workers of a pilot that ends; all are taken to be as wide as the widest.
WorkerDemand workers_of(const Pilot& pilot) {
  const std::uint32_t width = std::clamp(pilot.widest_worker, 1U, pilot.cores_used);
  const std::uint32_t workers = (pilot.cores_used + width - 1) / width;
  return {.workers = workers,
          .worker = {.alternatives = {{.cores = width,
                                       .memory = {pilot.memory_used.value / workers},
                                       .gpus = (pilot.gpus_used + workers - 1) / workers,
                                       .gpu_model = pilot.gpu_model}}}};
}

std::uint32_t count_workers(const std::vector<WorkerDemand>& demand) {
  std::uint32_t workers = 0;
  for (const WorkerDemand& row : demand) workers += row.workers;
  return workers;
}

}  // namespace

Result<void> check(const PilotOptions& o) {
  if (o.shortest < seconds(60) || o.longest < o.shortest)
    return fail(
        ErrorCode::bad_configuration,
        "the shortest time of a pilot must be at least 1 minute, and not more than the longest");
  if (o.most_cores == 0 || o.least_cores == 0 || o.least_cores > o.most_cores)
    return fail(ErrorCode::bad_configuration,
                "a pilot has at least 1 core, and its fewest cores must not be more than its most");
  if (o.grow_after.count() < 0 || o.shrink_after.count() < 1 || o.renew_before.count() < 0 ||
      o.missed_after.count() < 0 || o.no_room_after.count() < 0 || o.no_start_after.count() < 0 ||
      o.join_within.count() < 1 || o.first_pause.count() < 1 || o.longest_pause < o.first_pause)
    return fail(ErrorCode::bad_configuration, "the pilots' times must be positive, in seconds");
  if (o.renew_before >= o.shortest)
    return fail(ErrorCode::bad_configuration,
                "pilots would be renewed before they begin: the time between renewal and end must "
                "be less than the shortest time");
  return {};
}

PilotController::PilotController(PilotOptions options)
    : options_(options),
      pause_(options.first_pause),
      holes_({.gone_after = options.missed_after,
              .no_room_after = options.no_room_after,
              .no_start_after = options.no_start_after}) {
  // Halves: backfill can place the short ones in holes that are too short for others.
  for (seconds length = options_.longest; length > options_.shortest; length /= 2)
    lengths_.push_back(length);
  lengths_.push_back(options_.shortest);
}

/// Lengths in turn, so that whatever hole opens, one that waits may fit.
seconds PilotController::next_length(std::chrono::milliseconds lifetime) {
  for (std::size_t tried = 0; tried < lengths_.size(); ++tried) {
    const seconds length = lengths_[next_length_++ % lengths_.size()];
    if (lifetime.count() == 0 || lifetime + worker_margin <= length) return length;
  }
  return options_.longest;
}

seconds PilotController::longest_mixed(seconds room) const {
  const auto fits =
      std::ranges::find_if(lengths_, [room](const seconds length) { return length <= room; });
  return fits == lengths_.end() ? options_.shortest : *fits;
}

bool PilotController::is_ending(MonotonicTime now, const Pilot& pilot) const {
  return pilot.runs && pilot.ends && *pilot.ends - now <= options_.renew_before;
}

/// Nothing, or why no pilot would ever hold such a worker.
std::optional<std::string> PilotController::why_never(const WorkerDemand& row,
                                                      const WorkerShape& size,
                                                      const Situation& situation) const {
  if (size.cores > options_.most_cores)
    return fmt::format("a pilot has at most {} cores", options_.most_cores);
  if (row.worker.lifetime.count() > 0 && row.worker.lifetime + worker_margin > options_.longest)
    return fmt::format("a pilot lasts at most {} s", options_.longest.count());
  if (situation.nodes) return why_on_no_node(row.worker, size, *situation.nodes);
  if (!row.worker.architecture.empty() || row.worker.kind == HostKind::dpu)
    return "no capacity source reports what the nodes are like";
  return std::nullopt;
}

/// What pilots can help with, the widest first. The rest is said.
std::vector<WorkerDemand> PilotController::servable(const Situation& situation) {
  hopeless_.clear();
  std::vector<WorkerDemand> servable;
  for (const WorkerDemand& wanted : situation.demand) {
    WorkerDemand row = wanted;
    std::string why;
    std::erase_if(row.worker.alternatives, [&](const WorkerShape& size) {
      const auto reason = why_never(row, size, situation);
      if (reason) why = *reason;
      return reason.has_value();
    });
    if (row.worker.alternatives.empty())
      hopeless_.push_back("workers of " + to_string(wanted.worker) + ": " + why);
    else
      servable.push_back(std::move(row));
  }
  sort_by_width(servable);
  return servable;
}

/// What is wanted beyond what is on its way, and what is free in pilots. Demand has to last; what
/// replaces pilots that are used and about to end has lasted already.
std::vector<WorkerDemand> PilotController::missing(MonotonicTime now, const Situation& situation,
                                                   const std::vector<WorkerDemand>& demand) {
  std::vector<PilotRoom> rooms;
  std::vector<WorkerDemand> ending;
  for (const Pilot& pilot : situation.pilots) {
    if (is_ending(now, pilot)) {
      if (pilot.cores_used > 0) ending.push_back(workers_of(pilot));
    } else if (gives_room(pilot)) {
      rooms.push_back({&pilot, pilot.joined ? free_room(pilot) : whole_room(pilot)});
    }
  }
  std::vector<WorkerDemand> left = demand;
  std::vector<PilotRoom> rooms_for_demand = rooms;
  subtract(left, rooms_for_demand, situation, now);
  if (!any_left(left))
    short_since_.reset();
  else if (!short_since_)
    short_since_ = now;
  if (!short_since_ || now - *short_since_ < options_.grow_after) {
    // What is on its way is for what ends, as far as demand does not want it.
    if (any_left(left)) rooms_for_demand = std::move(rooms);
    left.clear();
  }
  subtract(ending, rooms_for_demand, situation, now);
  std::ranges::move(ending, std::back_inserter(left));
  sort_by_width(left);
  return left;
}

/// A pilot that runs is about to join, or never will: its node does not reach the gateway, say, or
/// hangs. Nobody waits for that for ever.
void PilotController::give_up(MonotonicTime now, Situation& situation,
                              std::vector<PilotAction>& actions) {
  std::map<std::uint64_t, Arrival> arrivals;
  std::erase_if(situation.pilots, [&](const Pilot& pilot) {
    if (!pilot.runs) return false;
    const auto known = arrivals_.find(pilot.job);
    Arrival& arrival = arrivals[pilot.job];
    arrival = known == arrivals_.end() ? Arrival{.since = now} : known->second;
    if (pilot.suspended || pilot.configuring) arrival.since = now;
    if (pilot.joined) arrival.is_over = true;
    if (arrival.is_over || now - arrival.since < options_.join_within) return false;
    arrival.is_over = true;
    actions.emplace_back(CancelPilot{.job = pilot.job, .why = CancelReason::never_joined});
    pilot_failed(now, pilot.node);
    return true;
  });
  arrivals_ = std::move(arrivals);
}

/// Not for who is wanted now: Slurm has suspended it, or its executor was there and is silent.
bool PilotController::gives_room(const Pilot& pilot) const {
  if (pilot.suspended) return false;
  const auto arrival = arrivals_.find(pilot.job);
  return pilot.joined || arrival == arrivals_.end() || !arrival->second.is_over;
}

/// A pilot that is there and idle does not help with what is still wanted. One that is yet to come
/// may; and one that will take the workers of a pilot that ends stays.
void PilotController::cancel_idle(MonotonicTime now, const Situation& situation,
                                  const std::vector<WorkerDemand>& demand,
                                  std::vector<PilotAction>& actions) {
  std::map<std::uint64_t, MonotonicTime> idle;
  std::vector<const Pilot*> too_long;
  std::vector<PilotRoom> staying;
  std::vector<WorkerDemand> ending;
  const auto is_needed = [&](const Pilot& pilot) {
    return !pilot.joined && gives_room(pilot) &&
           std::ranges::any_of(demand, [&](const WorkerDemand& row) {
             return suits(row.worker, pilot, situation) &&
                    std::ranges::any_of(row.worker.alternatives, [&](const WorkerShape& size) {
                      return workers_in(whole_room(pilot), size) > 0;
                    });
           });
  };
  const auto takes_more = [&](const Pilot& pilot) {
    return gives_room(pilot) && !is_ending(now, pilot);
  };
  for (const Pilot& pilot : situation.pilots) {
    if (pilot.cores_used != 0 && is_ending(now, pilot)) ending.push_back(workers_of(pilot));
    if (pilot.cores_used == 0) {
      if (is_needed(pilot)) continue;
      const auto known = idle_since_.find(pilot.job);
      const MonotonicTime since = known == idle_since_.end() ? now : known->second;
      idle[pilot.job] = since;
      if (now - since >= options_.shrink_after) {
        too_long.push_back(&pilot);
        continue;
      }
    }
    if (takes_more(pilot)) staying.push_back({&pilot, free_room(pilot)});
  }
  subtract(ending, staying, situation, now);
  for (const Pilot* pilot : too_long) {
    std::vector<PilotRoom> room;
    if (takes_more(*pilot)) room.push_back({pilot, whole_room(*pilot)});
    const std::uint32_t before = count_workers(ending);
    subtract(ending, room, situation, now);
    if (count_workers(ending) == before)
      actions.emplace_back(CancelPilot{pilot->job});
    else
      idle[pilot->job] = std::max(idle[pilot->job], now + moved_within - options_.shrink_after);
  }
  idle_since_ = std::move(idle);
}

/// A pilot waits for a hole that has become too small: backfill will not start it before its node
/// has that many cores again, and it keeps others from waiting for what is there. Where short jobs
/// take the hole again and again, or Slurm knows better, another node is tried.
void PilotController::cancel_missed(MonotonicTime now, Situation& situation,
                                    std::vector<PilotAction>& actions) {
  if (!situation.holes) return;
  holes_.begin(now);
  std::erase_if(situation.pilots, [&](const Pilot& pilot) {
    if (pilot.runs || pilot.node.empty() || !pilot.for_hole) return false;
    const bool fits = std::ranges::any_of(*situation.holes, [&](const Hole& hole) {
      return hole.node == pilot.node && hole.cores >= pilot.cores && hole.gpus >= pilot.gpus;
    });
    const Wait wait = holes_.look(pilot.job, {.hole_is_there = fits, .no_room = pilot.no_room});
    if (wait == Wait::may_end) return false;
    if (wait == Wait::not_given) avoided_until_[pilot.node] = now + options_.avoid_node_for;
    actions.emplace_back(CancelPilot{.job = pilot.job, .why = CancelReason::missed});
    return true;
  });
}

std::vector<PilotAction> PilotController::decide(MonotonicTime now, Situation situation) {
  std::vector<PilotAction> actions;
  std::erase_if(avoided_until_, [now](const auto& entry) { return entry.second <= now; });
  const std::vector<WorkerDemand> demand = servable(situation);
  cancel_missed(now, situation, actions);
  give_up(now, situation, actions);
  cancel_idle(now, situation, demand, actions);
  std::vector<WorkerDemand> left = missing(now, situation, demand);
  const auto waiting = static_cast<std::uint64_t>(
      std::ranges::count_if(situation.pilots, [](const Pilot& pilot) { return !pilot.runs; }));
  const auto room = [](std::uint64_t most, std::uint64_t have) {
    return most > have ? most - have : 0;
  };
  std::uint64_t may_submit = std::min(room(options_.most_queued, waiting),
                                      room(options_.most_running, situation.pilots.size()));
  if (paused_until_ && now < *paused_until_) return actions;
  if (situation.holes)
    std::erase_if(*situation.holes,
                  [&](const Hole& hole) { return avoided_until_.contains(hole.node); });
  if (situation.holes) submit_to_holes(situation, left, may_submit, actions);
  // Where no hole is known, few wait for one: they may start when something ends early.
  if (!situation.holes || waiting == 0) submit_to_wait(situation, left, may_submit, actions);
  return actions;
}

/// Better alternatives come first, wherever they are.
void PilotController::submit_to_holes(const Situation& situation, std::vector<WorkerDemand>& left,
                                      std::uint64_t& may_submit,
                                      std::vector<PilotAction>& actions) const {
  std::vector<Place> places = places_in_holes(situation, options_);
  std::size_t alternatives = 0;
  for (const WorkerDemand& row : left)
    alternatives = std::max(alternatives, row.worker.alternatives.size());
  for (Place& place : places) {
    place.room.cores = std::min(place.room.cores, options_.most_cores);
    place.pilot.time = longest_mixed(place.lasts);
  }
  for (std::size_t number = 0; number < alternatives; ++number)
    for (Place& place : places) {
      const bool is_new = place.pilot.cores == 0;
      if (is_new && may_submit == 0) continue;
      fill(place, left, number);
      if (is_new && place.pilot.cores > 0) --may_submit;
    }
  for (Place& place : places) {
    if (place.pilot.cores == 0) continue;
    round_up(place, options_);
    actions.emplace_back(std::move(place.pilot));
  }
}

void PilotController::submit_to_wait(const Situation& situation, std::vector<WorkerDemand>& left,
                                     std::uint64_t may_submit, std::vector<PilotAction>& actions) {
  for (std::size_t first = 0; first < left.size() && may_submit > 0;) {
    auto place =
        left[first].workers == 0 ? std::nullopt : place_to_wait(left[first], situation, options_);
    if (place) {
      place->pilot.time = next_length(left[first].worker.lifetime);
      const std::uint32_t before = left[first].workers;
      for (std::size_t number = 0; number < left[first].worker.alternatives.size(); ++number)
        fill(*place, left, number);
      if (left[first].workers == before) place.reset();
    }
    if (!place) {
      ++first;
      continue;
    }
    round_up(*place, options_);
    actions.emplace_back(std::move(place->pilot));
    --may_submit;
  }
}

void PilotController::pilot_failed(MonotonicTime now, const std::string& node) {
  if (!node.empty()) avoided_until_[node] = now + options_.avoid_node_for;
  if (paused_until_ && now < *paused_until_) return;
  paused_until_ = now + pause_;
  pause_ = std::min(pause_ * 2, options_.longest_pause);
}

bool PilotController::time_is_too_long(seconds time) {
  if (time <= options_.shortest) return false;
  std::erase_if(lengths_, [time](const seconds length) { return length >= time; });
  options_.longest = lengths_.front();
  return true;
}

}  // namespace orchid::pilot
