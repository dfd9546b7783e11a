// The life of a lease: its workers come and go, its modules are loaded, it ends.
#include <sched.h>

#include <algorithm>

#include "http/problem.h"
#include "lease/lease_core.h"
#include "lease/lease_threads.h"

namespace orchid::sdk {

LeaseCore::LeaseCore(Terms terms)
    : LeaseBoard(std::move(terms.options), std::move(terms.threads), TickRate::since(terms.began)),
      id_(std::move(terms.grant.id)),
      cores_per_worker_(terms.grant.cores_per_worker),
      memory_(terms.grant.memory),
      source_(std::move(terms.source)),
      renewed_at_(std::chrono::steady_clock::now().time_since_epoch().count()) {}

LeaseCore::~LeaseCore() { release(); }

std::shared_ptr<LeaseCore> LeaseCore::open(Terms terms) {
  LeaseGrant grant = terms.grant;
  auto core = std::make_shared<LeaseCore>(std::move(terms));
  const auto threads = core->threads();
  threads->lanes.look_after(core);
  threads->keeper.keep(core);
  core->add_workers(std::move(grant));
  core->wait_for_workers();
  return core;
}

void LeaseCore::add_workers(LeaseGrant grant) {
  const std::lock_guard lock(lanes_mutex_);
  if (ended()) return;
  for (GrantedWorker& worker : grant.workers) {
    const bool known = std::ranges::any_of(
        owned_lanes_, [&](const auto& lane) { return lane->worker().lease == worker.lease; });
    if (known || owned_lanes_.size() == lane_limit) continue;
    owned_lanes_.push_back(std::make_unique<WorkerLane>(*this, std::move(worker)));
    WorkerLane* lane = owned_lanes_.back().get();
    (void)lane->try_drive();  // before anybody else knows it
    lanes_[owned_lanes_.size() - 1].store(lane);
    lane_count_.store(owned_lanes_.size(), std::memory_order_release);
    lane->open();
    lane->leave();
  }
}

/// A worker may be lost before its lane is there, or its executor taken back: the keeper asks the
/// gateway for another one meanwhile, and ends the lease when there will be none.
void LeaseCore::wait_for_workers() {
  const unsigned wanted = options().at_least > 0 ? options().at_least : options().workers;
  if (wait_for_lanes(std::chrono::steady_clock::now() + options().within,
                     [&] { return ready_workers() >= wanted; }))
    return;
  const auto why = trouble();
  const unsigned got = ready_workers();
  release();
  if (why) throw Error(*why);
  throw Error({.kind = ErrorKind::no_capacity,
               .message = "only " + std::to_string(got) + " of " + std::to_string(wanted) +
                          " workers could be reached",
               .hint = "run this program on the workers' host, as the user who owns the lease; "
                       "'orchid leases' shows where they are",
               .retryable = true});
}

bool LeaseCore::has_worker_elsewhere(const std::vector<std::string>& hosts,
                                     const std::string& besides) const {
  return count_lanes([&](const WorkerLane& lane) {
           const std::string& node = lane.worker().node;
           return lane.phase() != LanePhase::dead && node != besides &&
                  std::ranges::find(hosts, node) != hosts.end();
         }) > 0;
}

/// The objects stay where they are; until then their executor may not evict them. A lane that is
/// driven now is in use, and tidied the next time.
void LeaseCore::detach_unused_data() {
  constexpr std::chrono::seconds unused_for{30};
  const MonotonicTime before = std::chrono::steady_clock::now() - unused_for;
  for_each_lane([&](WorkerLane& lane) {
    if (!lane.try_drive()) return;
    lane.detach_unused(before);
    lane.leave();
  });
}

std::shared_ptr<LeaseCode> LeaseCore::load(std::string digest, std::string function,
                                           UniqueFd module) {
  auto code = add_code(std::move(digest), std::move(function), std::move(module));
  poke_lanes();
  await_code(*code);
  return code;
}

void LeaseCore::module_fetched(LeaseCode& code, Result<UniqueFd> module) {
  if (LeaseBoard::module_fetched(code, std::move(module))) poke_lanes();
}

std::vector<LeaseId> LeaseCore::lost_workers() const {
  std::vector<LeaseId> lost;
  for_each_lane([&](const WorkerLane& lane) {
    if (lane.phase() == LanePhase::dead && !told_lost_.contains(lane.worker().lease))
      lost.push_back(lane.worker().lease);
  });
  return lost;
}

void LeaseCore::renewed(const std::vector<LeaseId>& told, LeaseGrant grant) {
  renewed_at_.store(std::chrono::steady_clock::now().time_since_epoch().count());
  told_lost_.insert(told.begin(), told.end());
  add_workers(std::move(grant));
}

bool LeaseCore::is_overdue() const {
  const MonotonicTime renewed_at{MonotonicTime::duration(renewed_at_.load())};
  return std::chrono::steady_clock::now() - renewed_at > options().duration;
}

bool LeaseCore::misses_workers() const {
  return is_searching() && count_lanes([](const WorkerLane& lane) {
                             return lane.phase() != LanePhase::dead;
                           }) < options().workers;
}

void LeaseCore::poke_lanes() {
  for_each_lane([](WorkerLane& lane) { lane.poke(); });
}

unsigned LeaseCore::ready_workers() const {
  return count_lanes([](const WorkerLane& lane) { return lane.phase() == LanePhase::ready; });
}

unsigned LeaseCore::idle_workers() const {
  return count_lanes([](const WorkerLane& lane) { return lane.seems_idle(); });
}

std::vector<std::int64_t> LeaseCore::worker_pids() const {
  std::vector<std::int64_t> pids;
  for_each_lane([&](const WorkerLane& lane) {
    if (const auto pid = lane.pid(); pid != 0) pids.push_back(pid);
  });
  return pids;
}

bool LeaseCore::has_live_lane() const {
  return count_lanes([](const WorkerLane& lane) { return lane.phase() != LanePhase::dead; }) > 0;
}

LeaseCapacity LeaseCore::capacity() const {
  LeaseCapacity capacity{.cores_per_worker = cores_per_worker_, .memory_per_worker = memory_};
  for_each_lane([&](const WorkerLane& lane) {
    if (lane.phase() == LanePhase::dead) return;
    ++capacity.promised;
    if (lane.phase() != LanePhase::ready) return;
    ++capacity.workers;
    capacity.largest_input = std::max(capacity.largest_input, lane.largest_input());
    capacity.largest_output = std::max(capacity.largest_output, lane.largest_output());
    const GrantedWorker& worker = lane.worker();
    capacity.granted.push_back({.node = worker.node,
                                .cores = worker.cores,
                                .memory = worker.memory,
                                .gpus = worker.gpus,
                                .gpu_model = worker.gpu_model});
    if (std::ranges::find(capacity.nodes, worker.node) == capacity.nodes.end())
      capacity.nodes.push_back(worker.node);
  });
  return capacity;
}

void LeaseCore::end(const Error::Details& why) {
  if (!close(why)) return;
  const std::lock_guard lock(lanes_mutex_);
  for (const auto& lane : owned_lanes_) lane->want_closed();
  poke_lanes();
}

void LeaseCore::release() {
  end({.kind = ErrorKind::lease_ended,
       .message = "the lease was released",
       .hint = hint_for(ErrorKind::lease_ended)});
  if (threads() == nullptr) return;
  {
    const std::lock_guard lock(lanes_mutex_);
    for (const auto& lane : owned_lanes_) {
      lane->want_closed();
      while (true) {
        keepers_.leave_lanes();  // they may be this thread's
        lane->poke();
        if (lane->phase() == LanePhase::dead) break;
        ::sched_yield();
      }
    }
  }
  try {
    source_->release();
  } catch (const Error&) {
    // The executor has its workers back already; the gateway's copy expires.
  }
  drop_threads();
}

}  // namespace orchid::sdk
