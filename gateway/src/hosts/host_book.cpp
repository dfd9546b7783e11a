#include "hosts/host_book.h"

#include <algorithm>
#include <utility>

namespace orchid::gateway {
namespace {

bool replaces(const Executor& newer, const Executor& older) {
  if (newer.id == older.id || newer.owner.tenant.uid != older.owner.tenant.uid) return false;
  if (newer.lane_socket == older.lane_socket) return true;
  return older.state == ExecutorState::lost && newer.grant.source == older.grant.source &&
         newer.grant.cluster == older.grant.cluster && newer.grant.job == older.grant.job;
}

/// It may have left already: its names are often alike.
void leave(std::map<std::string, std::set<ExecutorId>>& named, const std::string& name,
           const ExecutorId& id) {
  const auto found = named.find(name);
  if (found == named.end()) return;
  found->second.erase(id);
  if (found->second.empty()) named.erase(found);
}

}  // namespace

std::vector<std::string> names_of_host(const Executor& executor) {
  const std::string& whole = executor.host.hostname;
  std::vector<std::string> names{executor.grant.node, whole, whole.substr(0, whole.find('.'))};
  std::erase(names, std::string());
  return names;
}

std::vector<ExecutorId> HostBook::join(Executor executor) {
  std::vector<ExecutorId> replaced;
  for (const Executor* older : of_host(executor.host.boot_id))
    if (replaces(executor, *older)) replaced.push_back(older->id);
  for (const ExecutorId& id : replaced) remove(id);
  remove(executor.id);
  executor.state = ExecutorState::connected;
  const ExecutorId id = executor.id;
  by_host_[executor.host.boot_id].insert(id);
  for (const std::string& name : names_of_host(executor)) by_name_[name].insert(id);
  executors_.insert_or_assign(id, std::move(executor));
  return replaced;
}

void HostBook::resume(const ExecutorId& id) {
  if (const auto found = executors_.find(id); found != executors_.end())
    found->second.state = ExecutorState::connected;
}

void HostBook::lose(const ExecutorId& id, MonotonicTime now) {
  const auto found = executors_.find(id);
  if (found == executors_.end() || found->second.state == ExecutorState::lost) return;
  found->second.state = ExecutorState::lost;
  found->second.lost_at = now;
}

void HostBook::remove(const ExecutorId& id) {
  const auto found = executors_.find(id);
  if (found == executors_.end()) return;
  leave(by_host_, found->second.host.boot_id, id);
  for (const std::string& name : names_of_host(found->second)) leave(by_name_, name, id);
  refusing_.erase(id);
  executors_.erase(found);
}

void HostBook::report(const ExecutorId& id, CapacityReport capacity) {
  if (const auto found = executors_.find(id); found != executors_.end())
    found->second.capacity = std::move(capacity);
}

void HostBook::change_grant(const ExecutorId& id, const GrantChanged& change, MonotonicTime now) {
  const auto found = executors_.find(id);
  if (found == executors_.end()) return;
  Executor& executor = found->second;
  executor.host.cores = change.cores;
  if (change.gpus) executor.host.gpus = *change.gpus;
  executor.grant.ends_in = change.ends_in;
  executor.grant.draining = change.draining;
  executor.ends = change.ends_in ? now + *change.ends_in : MonotonicTime::max();
  note_cores(executor, now);
}

void HostBook::note_cores(Executor& executor, MonotonicTime now) {
  if (!executor.host.cores.empty() || executor.grant.draining) {
    executor.bare_since.reset();
    executor.is_bare = false;
  } else if (!executor.bare_since) {
    executor.bare_since = now;
  }
}

bool HostBook::find_bare(MonotonicTime since) {
  bool some = false;
  for (auto& [id, executor] : executors_)
    if (executor.bare_since && *executor.bare_since <= since)
      some |= !std::exchange(executor.is_bare, true);
  return some;
}

void HostBook::refuse_until(const ExecutorId& id, MonotonicTime time) {
  const auto found = executors_.find(id);
  if (found == executors_.end()) return;
  found->second.refusing_until = time;
  refusing_.insert(id);
}

std::vector<ExecutorId> HostBook::end_refusals(MonotonicTime time) {
  std::vector<ExecutorId> ended;
  for (const ExecutorId& id : refusing_)
    if (executors_.at(id).refusing_until <= time) ended.push_back(id);
  for (const ExecutorId& id : ended) {
    executors_.at(id).refusing_until = {};
    refusing_.erase(id);
  }
  return ended;
}

void HostBook::wait_for_gpu(const ExecutorId& id, std::uint32_t index,
                            std::optional<MonotonicTime> until) {
  const auto found = executors_.find(id);
  if (found == executors_.end()) return;
  if (until)
    found->second.gpus_return_by[index] = *until;
  else
    found->second.gpus_return_by.erase(index);
}

bool HostBook::end_waits_for_gpus(MonotonicTime now) {
  bool some = false;
  for (auto& [id, executor] : executors_)
    some |= std::erase_if(executor.gpus_return_by,
                          [now](const auto& gpu) { return gpu.second <= now; }) != 0;
  return some;
}

const Executor* HostBook::find(const ExecutorId& id) const {
  const auto found = executors_.find(id);
  return found == executors_.end() ? nullptr : &found->second;
}

std::vector<const Executor*> HostBook::of_host(const std::string& boot_id) const {
  std::vector<const Executor*> found;
  if (const auto host = by_host_.find(boot_id); host != by_host_.end())
    for (const ExecutorId& id : host->second) found.push_back(&executors_.at(id));
  return found;
}

std::set<std::string> HostBook::boot_ids() const {
  std::set<std::string> ids;
  for (const auto& [id, executors] : by_host_) ids.insert(ids.end(), id);
  return ids;
}

std::set<std::string> HostBook::boot_ids_of(const TouchedNodes& nodes) const {
  if (nodes.all) return boot_ids();
  std::set<std::string> ids;
  for (const std::string& name : nodes.names)
    if (const auto found = by_name_.find(name); found != by_name_.end())
      for (const ExecutorId& id : found->second) ids.insert(executors_.at(id).host.boot_id);
  return ids;
}

std::size_t HostBook::connected() const {
  return static_cast<std::size_t>(std::ranges::count_if(executors_, [](const auto& entry) {
    return entry.second.state == ExecutorState::connected;
  }));
}

std::size_t HostBook::host_cores(const std::string& boot_id) const {
  std::set<std::uint32_t> cores;
  for (const Executor* executor : of_host(boot_id))
    cores.insert(executor->host.cores.begin(), executor->host.cores.end());
  return cores.size();
}

std::vector<ExecutorId> HostBook::lost_before(MonotonicTime time) const {
  std::vector<ExecutorId> found;
  for (const auto& [id, executor] : executors_)
    if (executor.state == ExecutorState::lost && executor.lost_at <= time) found.push_back(id);
  return found;
}

}  // namespace orchid::gateway
