#include "utilisation/batch_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace orchid::utilisation {
namespace {

// Pilots' numbers begin where no trace's do.
constexpr PilotId first_pilot = 1ULL << 40;

/// When a job of such a length is over: a sweep ends those that do not end by themselves.
SimTime end_of(const TraceJob& job, SimTime start) {
  if (job.runtime <= job.limit) return start + job.runtime;
  const SimTime limit = start + job.limit;
  const SimTime sweep = (limit + limit_sweep - SimTime(1)) / limit_sweep * limit_sweep;
  return std::min(start + job.runtime, sweep);
}

std::int64_t sum(const std::vector<std::int32_t>& cores) {
  std::int64_t all = 0;
  for (const std::int32_t n : cores) all += std::max(0, n);
  return all;
}

std::uint32_t even_part(const std::vector<NodeShare>& shares) {
  std::uint32_t all = 0;
  for (const NodeShare& share : shares) all += share.cores;
  const auto nodes = static_cast<std::uint32_t>(shares.size());
  return (all + nodes - 1) / nodes;
}

}  // namespace

BatchSystem::BatchSystem(const Options& options)
    : options_(options),
      ledger_({.shape = options.shape,
               .counted = options.counted,
               .start_up = start_up,
               .function = function_length}),
      random_(options.seed),
      changed_(options.shape.nodes, true),
      next_pilot_(first_pilot) {}

SimTime BatchSystem::draw(SimTime least, SimTime most) {
  return SimTime(std::uniform_int_distribution<SimTime::rep>(least.count(), most.count())(random_));
}

void BatchSystem::submit(const TraceJob& job) {
  assert(job.cores <= options_.shape.cores());
  queue_.push_back(job);
  worth_a_backfill_ = true;
}

PilotId BatchSystem::submit(const PilotJob& pilot) {
  waiting_pilots_.emplace(next_pilot_, pilot);
  worth_a_backfill_ = true;
  return next_pilot_++;
}

void BatchSystem::job_ended(std::uint64_t job, SimTime now) {
  const auto found = running_.find(job);
  assert(found != running_.end());
  for (const auto& [node, cores] : found->second.cores) {
    ledger_.take_from_batch(node, cores, now);
    changed_[node] = true;
  }
  ++changes_;
  running_.erase(found);
  worth_a_backfill_ = true;
}

void BatchSystem::remove_pilot(PilotId id) {
  if (waiting_pilots_.erase(id) != 0) return;
  const auto found = running_pilots_.find(id);
  if (found == running_pilots_.end()) return;
  ledger_.take_from_pilot(found->second.node, found->second.cores);
  changed_[found->second.node] = true;
  ++changes_;
  running_pilots_.erase(found);
  worth_a_backfill_ = true;
}

std::vector<std::int32_t> BatchSystem::free_of_batch() const {
  std::vector<std::int32_t> free(options_.shape.nodes);
  for (std::uint32_t node = 0; node < options_.shape.nodes; ++node)
    free[node] =
        static_cast<std::int32_t>(options_.shape.cores_per_node - ledger_.batch(node).size());
  return free;
}

FreeProfile BatchSystem::profile(SimTime now) const {
  FreeProfile profile(now, free_of_batch());
  for (const auto& [id, job] : running_) {
    // One that is over its limit ends with the next sweep.
    const SimTime ends = job.limit_ends > now ? job.limit_ends : now + limit_sweep;
    for (const auto& [node, cores] : job.cores) profile.release(ends, {node, cores.size()});
  }
  return profile;
}

FreeProfile BatchSystem::profile_with_pilots(SimTime now, FreeProfile profile) const {
  for (const auto& [id, pilot] : running_pilots_)
    profile.take(now, std::max(pilot.ends, now + SimTime(1)), {pilot.node, pilot.cores.size()});
  return profile;
}

/// Ends pilots of a node, the youngest first, until so many cores of it are idle, or all of them.
std::uint32_t BatchSystem::make_room(NodeShare share, Events& events) {
  std::uint32_t gone = 0;
  const bool all = options_.preemption.who == PreemptedPilots::all_of_a_node &&
                   ledger_.idle(share.node).size() < share.cores;
  while (ledger_.idle(share.node).size() < share.cores ||
         (all && ledger_.pilots(share.node).size() != 0)) {
    const Pilot* youngest = nullptr;
    for (const auto& [id, pilot] : running_pilots_)
      if (pilot.node == share.node && (youngest == nullptr || pilot.started >= youngest->started))
        youngest = &pilot;
    assert(youngest != nullptr);
    events.pilots_preempted.push_back(youngest->id);
    remove_pilot(youngest->id);
    ++gone;
  }
  return gone;
}

SimTime BatchSystem::reclaim_time() {
  const Preemption& model = options_.preemption;
  const SimTime time = draw(model.reclaim_least, model.reclaim_most);
  const bool late = draw(SimTime(0), SimTime(99)) < SimTime(model.late_looks);
  return late ? time + second_look : time;
}

/// `free`: of each node, for as long as the job may take; pilots' cores included.
void BatchSystem::start(const TraceJob& job, const std::vector<std::int32_t>& free, SimTime now,
                        Events& events) {
  std::vector<std::int32_t> idle = free;
  for (std::uint32_t node = 0; node < options_.shape.nodes; ++node)
    idle[node] = std::min(idle[node], static_cast<std::int32_t>(ledger_.idle(node).size()));
  const auto shares = choose_nodes(sum(idle) >= job.cores ? idle : free, job.cores);
  assert(shares);
  SimTime delay{0};
  RunningJob running;
  for (const NodeShare& share : *shares) {
    const std::uint32_t gone = make_room(share, events);
    for (std::uint32_t i = 0; i < gone; ++i) delay = std::max(delay, reclaim_time());
    running.cores.emplace_back(share.node, ledger_.give_to_batch(share, now));
    changed_[share.node] = true;
  }
  SimTime pass{0};
  if (delay != SimTime(0)) {
    delay += draw(preemption_least, preemption_most);
    if (job.submitted == now) pass = draw(SimTime(0), longest_until_pass);
  }
  if (const auto* given = options_.preemption.given)
    if (const auto found = given->find(job.id); found != given->end()) delay = found->second;
  const SimTime at = now + pass + delay;
  running.limit_ends = at + job.limit;
  running_.emplace(job.id, std::move(running));
  ++changes_;
  const SimTime ends = end_of(job, at);
  batch_time_ += job.cores * options_.counted.within(at, ends);
  events.jobs.push_back({.job = job.id,
                         .at = at,
                         .ends = ends,
                         .delay = delay,
                         .pass = pass,
                         .waited = at - job.submitted});
  worth_a_backfill_ = true;
}

BatchSystem::Events BatchSystem::first_in_order_pass(SimTime now) {
  Events events;
  while (!queue_.empty()) {
    std::vector<std::int32_t> free = free_of_batch();
    if (sum(free) < queue_.front().cores) break;
    start(queue_.front(), free, now, events);
    queue_.pop_front();
  }
  if (queue_.empty() && !waiting_pilots_.empty()) start_pilots(now, profile(now), events);
  return events;
}

BatchSystem::Events BatchSystem::backfill_pass(SimTime now) {
  Events events;
  ++changes_;  // time has passed, too: plans and limits that nobody kept
  if (!worth_a_backfill_) return events;
  worth_a_backfill_ = false;
  planned_.clear();
  FreeProfile plans = profile(now);
  std::size_t tested = 0;
  for (auto job = queue_.begin(); job != queue_.end() && tested < backfill_most_jobs; ++tested) {
    auto plan = plans.earliest(job->cores, job->limit, now + backfill_window);
    if (!plan) {
      ++job;
      continue;
    }
    const bool starts = plan->start <= now;
    if (starts) {
      start(*job, plans.least_free(now, now + job->limit), now, events);
      plan->shares.clear();
      for (const auto& [node, cores] : running_.at(job->id).cores)
        plan->shares.push_back({node, cores.size()});
    }
    for (const NodeShare& share : plan->shares)
      plans.take(plan->start, plan->start + job->limit, share);
    if (!starts) planned_.emplace(job->id, PlannedJob{.plan = *plan, .length = job->limit});
    job = starts ? queue_.erase(job) : job + 1;
  }
  if (!waiting_pilots_.empty()) start_pilots(now, std::move(plans), events);
  // What has become possible is looked at by then at the latest.
  worth_a_backfill_ = !events.jobs.empty() || !events.pilots_started.empty();
  return events;
}

/// `profile`: what batch jobs leave.
void BatchSystem::start_pilots(SimTime now, FreeProfile profile, Events& events) {
  profile = profile_with_pilots(now, std::move(profile));
  std::vector<std::pair<PilotId, PilotJob>> order(waiting_pilots_.begin(), waiting_pilots_.end());
  std::ranges::stable_sort(
      order, [](const auto& a, const auto& b) { return a.second.priority > b.second.priority; });
  std::vector<PilotJob> without_room;  // what is like one of them has none either
  for (const auto& [id, job] : order) {
    if (std::ranges::find(without_room, job) != without_room.end()) continue;
    const auto node = node_for(job, now, profile);
    if (!node) {
      without_room.push_back(job);
      continue;
    }
    const std::uint32_t count = job.whole_node ? options_.shape.cores_per_node : job.cores;
    Pilot pilot{.id = id,
                .job = job,
                .node = *node,
                .cores = ledger_.give_to_pilot({*node, count}),
                .started = now,
                .ends = now + job.length};
    profile.take(now, pilot.ends, {*node, count});
    changed_[*node] = true;
    ++changes_;
    waiting_pilots_.erase(id);
    events.pilots_started.push_back(id);
    running_pilots_.emplace(id, std::move(pilot));
  }
}

/// The fullest on which it fits until its end.
std::optional<std::uint32_t> BatchSystem::node_for(const PilotJob& pilot, SimTime now,
                                                   const FreeProfile& profile) const {
  const std::uint32_t count = pilot.whole_node ? options_.shape.cores_per_node : pilot.cores;
  std::optional<std::uint32_t> best;
  std::int32_t best_free = 0;
  for (std::uint32_t node = 0; node < options_.shape.nodes; ++node) {
    if (pilot.node && *pilot.node != node) continue;
    if (ledger_.idle(node).size() < count) continue;
    const std::int32_t free = profile.least_free(node, now, now + pilot.length);
    if (free < static_cast<std::int32_t>(count)) continue;
    if (best && free >= best_free) continue;
    best = node;
    best_free = free;
  }
  return best;
}

std::vector<BatchSystem::Hole> BatchSystem::holes(SimTime now) const {
  FreeProfile all = profile_with_pilots(now, profile(now));
  for (const auto& [id, job] : planned_) {
    // Planned for a moment that has passed: it may start with the next look at the queue.
    const SimTime start = std::max(job.plan.start, now);
    if (running_.contains(id)) continue;
    // Slurm tells the nodes, and not how much of each: even parts, as orchid-slurm takes it.
    const std::uint32_t even = even_part(job.plan.shares);
    for (const NodeShare& share : job.plan.shares)
      all.take(start, start + job.length, {share.node, even});
  }
  std::vector<Hole> holes;
  for (std::uint32_t node = 0; node < options_.shape.nodes; ++node) {
    auto cores = std::min(static_cast<std::int32_t>(ledger_.idle(node).size()),
                          all.least_free(node, now, now + SimTime(1)));
    while (cores > 0) {
      const auto until = all.falls_below(node, cores);
      holes.push_back({.node = node, .cores = static_cast<std::uint32_t>(cores), .until = until});
      if (!until) break;
      cores = all.least_free(node, now, *until + SimTime(1));
    }
  }
  return holes;
}

std::vector<BatchSystem::Holder> BatchSystem::holders(std::uint32_t node) const {
  std::vector<Holder> holders;
  for (const auto& [id, job] : running_)
    for (const auto& [where, cores] : job.cores)
      if (where == node) holders.push_back({id, cores});
  for (const auto& [id, pilot] : running_pilots_)
    if (pilot.node == node) holders.push_back({id, pilot.cores});
  return holders;
}

std::vector<std::uint32_t> BatchSystem::take_changed_nodes() {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 0; node < changed_.size(); ++node)
    if (changed_[node]) nodes.push_back(node);
  changed_.assign(changed_.size(), false);
  return nodes;
}

std::optional<std::string> BatchSystem::audit() const {
  if (auto wrong = ledger_.audit()) return wrong;
  std::vector<CoreSet> batch(options_.shape.nodes);
  std::vector<CoreSet> pilots(options_.shape.nodes);
  const auto add = [](CoreSet& all, const CoreSet& cores) {
    const bool fresh = !all.intersects(cores);
    all |= cores;
    return fresh;
  };
  for (const auto& [id, job] : running_)
    for (const auto& [node, cores] : job.cores)
      if (!add(batch[node], cores)) return fmt::format("job {}: another's cores", id);
  for (const auto& [id, pilot] : running_pilots_)
    if (!add(pilots[pilot.node], pilot.cores)) return fmt::format("pilot {}: another's cores", id);
  for (std::uint32_t node = 0; node < options_.shape.nodes; ++node)
    if (batch[node] != ledger_.batch(node) || pilots[node] != ledger_.pilots(node))
      return fmt::format("node {}: the ledger disagrees with the jobs", node);
  return std::nullopt;
}

}  // namespace orchid::utilisation
