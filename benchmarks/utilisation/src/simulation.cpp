#include "utilisation/simulation.h"

#include <algorithm>
#include <queue>

namespace orchid::utilisation {
namespace {

/// What Orchid's controller and HPC-Whisk have as their shortest pilots.
constexpr SimTime shortest_pilot{120'000};

enum class Happening : std::uint8_t { job_end, pilot_end, pilot_drain, pilot_join };

struct Event {
  SimTime at{0};
  std::uint64_t order = 0;  // of two at a time, the one that was planned first
  Happening what = Happening::job_end;
  std::uint64_t subject = 0;  // a job or a pilot
  friend bool operator>(const Event& a, const Event& b) {
    return std::pair(a.at, a.order) > std::pair(b.at, b.order);
  }
};

/// Owned by the caller's thread.
class Simulation {
 public:
  Simulation(const Trace& trace, const RunOptions& options, PilotPolicy& policy)
      : trace_(trace),
        options_(options),
        policy_(policy),
        batch_({.shape = options.shape,
                .counted = options.counted,
                .preemption = options.preemption,
                .seed = options.seed}),
        load_({.shape = options.shape, .counted = options.counted}) {}

  RunReport run() {
    while (!report_.broken) {
      const SimTime now = next_time();
      if (now >= options_.counted.until) break;
      step(now);
      if (options_.audit) report_.broken = audit();
    }
    finish();
    return std::move(report_);
  }

 private:
  [[nodiscard]] SimTime next_time() const {
    SimTime next = std::min({next_backfill_, next_poll_, next_decision_});
    if (next_job_ < trace_.jobs.size()) next = std::min(next, trace_.jobs[next_job_].submitted);
    if (!events_.empty()) next = std::min(next, events_.top().at);
    return next;
  }

  void step(SimTime now) {
    bool changed = false;
    while (!events_.empty() && events_.top().at == now) {
      const Event event = events_.top();
      events_.pop();
      changed |= happen(event);
    }
    for (; next_job_ < trace_.jobs.size() && trace_.jobs[next_job_].submitted == now; ++next_job_) {
      batch_.submit(trace_.jobs[next_job_]);
      changed = true;
    }
    if (changed) take(batch_.first_in_order_pass(now), now);
    if (now == next_backfill_) {
      take(batch_.backfill_pass(now), now);
      next_backfill_ += backfill_interval;
    }
    if (now == next_poll_) poll(now);
    if (now == next_decision_) decide(now);
  }

  /// True when cores have become free.
  bool happen(const Event& event) {
    if (event.what == Happening::job_end) {
      batch_.job_ended(event.subject, event.at);
      return true;
    }
    const auto pilot = batch_.running_pilots().find(event.subject);
    if (pilot == batch_.running_pilots().end()) return false;  // it was preempted
    switch (event.what) {
      case Happening::pilot_join:
        load_.join(pilot->second, event.at);
        return false;
      case Happening::pilot_drain:
        load_.drain(event.subject, event.at);
        return false;
      default:
        end_pilot(pilot->second, event.at);
        batch_.remove_pilot(event.subject);
        return true;
    }
  }

  void plan(SimTime at, Happening what, std::uint64_t subject) {
    events_.push({.at = at, .order = next_order_++, .what = what, .subject = subject});
  }

  void take(const BatchSystem::Events& events, SimTime now) {
    for (const PilotId id : events.pilots_preempted) {
      load_.leave(id, now);
      ++report_.pilots_preempted;
      const auto since = started_.extract(id);
      if (!since.empty()) count_pilot(since.mapped().first, since.mapped().second, now);
    }
    for (const BatchSystem::JobStart& start : events.jobs) {
      plan(start.ends, Happening::job_end, start.job);
      if (start.delay != SimTime(0)) report_.later.emplace(start.job, start.pass + start.delay);
      if (now < options_.counted.from) continue;
      ++report_.jobs;
      whole_wait_ += start.waited;
      if (start.delay == SimTime(0)) continue;
      report_.delays_ms.push_back(static_cast<double>(start.delay.count()));
      report_.delays_with_pass_ms.push_back(
          static_cast<double>((start.pass + start.delay).count()));
    }
    for (const PilotId id : events.pilots_started) {
      const auto pilot = batch_.running_pilots().find(id);
      if (pilot == batch_.running_pilots().end()) continue;
      ++report_.pilots_started;
      started_.emplace(id, std::pair(now, pilot->second.cores.size()));
      const SimTime joins = now + start_up - lease_start;
      const SimTime ends = pilot->second.ends - pilot->second.job.leaves_early;
      plan(joins, Happening::pilot_join, id);
      plan(std::max(joins, ends - drain_time(ends - joins)), Happening::pilot_drain, id);
      plan(ends, Happening::pilot_end, id);
    }
  }

  void end_pilot(const Pilot& pilot, SimTime now) {
    load_.leave(pilot.id, now);
    started_.erase(pilot.id);
    count_pilot(pilot.started, pilot.cores.size(), now);
  }
  void count_pilot(SimTime started, std::uint32_t cores, SimTime now) {
    report_.pilot_time += cores * options_.counted.within(started, now);
  }

  /// The Slurm source looks, and tells placement and whoever decides about pilots.
  void poll(SimTime now) {
    next_poll_ += poll_interval;
    const auto changed = batch_.take_changed_nodes();
    std::vector<placement::HostAllocation> allocations;
    for (const std::uint32_t node : changed) {
      placement::HostAllocation host{.host = host_of(node), .jobs = {}};
      for (BatchSystem::Holder& holder : batch_.holders(node))
        host.jobs.push_back(
            {.job = placement::JobId(holder.job), .cores = std::move(holder.cores), .gpus = {}});
      allocations.push_back(std::move(host));
    }
    if (!allocations.empty()) load_.learn(allocations, now);
    if (holes_at_ != batch_.changes()) {
      holes_ = batch_.holes(now);
      holes_at_ = batch_.changes();
    }
    look_at_pilots();
    if (now >= options_.counted.from) sample_losses(now);
  }

  /// As it will be until the next poll.
  void sample_losses(SimTime now) {
    LostTime& lost = report_.lost;
    for (const auto& [id, pilot] : batch_.running_pilots())
      if (!load_.joined(id)) lost.starting += pilot.cores.size() * poll_interval;
    std::vector<bool> waited_for(options_.shape.nodes);
    for (const auto& [id, job] : batch_.waiting_pilots())
      if (job.node) waited_for[*job.node] = true;
    std::optional<std::uint32_t> last;
    for (const BatchSystem::Hole& hole : holes_) {
      if (last == hole.node) continue;  // a part of the one before
      last = hole.node;
      const bool is_short = hole.until && *hole.until - now < shortest_pilot;
      SimTime& why = waited_for[hole.node] ? lost.queued : is_short ? lost.too_short : lost.unasked;
      why += hole.cores * poll_interval;
    }
  }

  /// What the batch system tells of pilots: as old as what it tells of the nodes.
  void look_at_pilots() {
    pilots_.clear();
    for (const auto& [id, job] : batch_.waiting_pilots()) pilots_.push_back(waiting(id, job));
    for (const auto& [id, pilot] : batch_.running_pilots())
      pilots_.push_back({.id = id,
                         .cores = pilot.cores.size(),
                         .length = pilot.job.length,
                         .runs = true,
                         .ends = pilot.ends,
                         .node = pilot.node});
  }
  static PilotSight waiting(PilotId id, const PilotJob& job) {
    return {.id = id, .cores = job.cores, .length = job.length, .ends = {}, .node = job.node};
  }

  void decide(SimTime now) {
    next_decision_ += decision_interval;
    for (PilotSight& pilot : pilots_) {
      pilot.joined = pilot.runs && load_.joined(pilot.id);
      pilot.cores_used = pilot.joined ? load_.cores_used(pilot.id) : 0;
    }
    const PilotOrders orders = policy_.decide({.now = now, .pilots = pilots_, .holes = &holes_});
    for (const PilotId id : orders.cancel) {
      const auto pilot = batch_.running_pilots().find(id);
      if (pilot != batch_.running_pilots().end()) end_pilot(pilot->second, now);
      batch_.remove_pilot(id);
      std::erase_if(pilots_, [id](const PilotSight& seen) { return seen.id == id; });
    }
    for (const PilotJob& job : orders.submit) pilots_.push_back(waiting(batch_.submit(job), job));
    report_.most_waiting = std::max(report_.most_waiting, batch_.waiting_pilots().size());
    if (!orders.submit.empty() || !orders.cancel.empty())
      take(batch_.first_in_order_pass(now), now);
  }

  void finish() {
    const SimTime now = options_.counted.until;
    while (!batch_.running_pilots().empty()) {
      const Pilot& pilot = batch_.running_pilots().begin()->second;
      end_pilot(pilot, now);
      batch_.remove_pilot(pilot.id);
    }
    batch_.ledger().finish(now);
    report_.idle = batch_.ledger().idle_time();
    report_.functions = load_.totals();
    report_.batch_time = batch_.batch_time();
    if (report_.jobs != 0)
      report_.mean_wait_seconds =
          std::chrono::duration<double>(whole_wait_).count() / static_cast<double>(report_.jobs);
  }

  [[nodiscard]] std::optional<std::string> audit() const {
    if (auto wrong = batch_.audit()) return wrong;
    return load_.audit();
  }

  const Trace& trace_;
  RunOptions options_;
  PilotPolicy& policy_;
  BatchSystem batch_;
  FunctionLoad load_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t next_order_ = 0;
  std::size_t next_job_ = 0;
  SimTime next_backfill_ = backfill_interval;
  // Not at the same moments as the passes.
  SimTime next_poll_{300};
  SimTime next_decision_{700};
  std::vector<BatchSystem::Hole> holes_;
  std::uint64_t holes_at_ = 0;  // BatchSystem::changes
  std::vector<PilotSight> pilots_;
  std::map<PilotId, std::pair<SimTime, std::uint32_t>> started_;  // when, and with how many cores
  SimTime whole_wait_{0};
  RunReport report_;
};

double part(SimTime some, SimTime all) {
  return all == SimTime(0) ? 0
                           : static_cast<double>(some.count()) / static_cast<double>(all.count());
}

}  // namespace

double RunReport::recovered() const { return part(functions.recovered, idle.whole); }
double RunReport::oracle() const { return part(idle.oracle, idle.whole); }
double RunReport::utilisation(const RunOptions& options) const {
  return part(batch_time, options.shape.cores() * (options.counted.until - options.counted.from));
}

RunReport simulate(const Trace& trace, const RunOptions& options, PilotPolicy& policy) {
  return Simulation(trace, options, policy).run();
}

}  // namespace orchid::utilisation
