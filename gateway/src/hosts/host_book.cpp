#include "hosts/host_book.h"

namespace orchid::gateway {
namespace {

bool replaces(const Executor& newer, const Executor& older) {
  if (newer.id == older.id) return false;
  const bool same_place =
      newer.host.boot_id == older.host.boot_id && newer.owner.tenant.uid == older.owner.tenant.uid;
  return same_place &&
         (older.state == ExecutorState::lost || newer.lane_socket == older.lane_socket);
}

}  // namespace

std::vector<ExecutorId> HostBook::join(Executor executor) {
  std::vector<ExecutorId> replaced;
  std::erase_if(executors_, [&](const auto& entry) {
    if (!replaces(executor, entry.second)) return false;
    replaced.push_back(entry.first);
    return true;
  });
  executor.state = ExecutorState::connected;
  const ExecutorId id = executor.id;
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

void HostBook::remove(const ExecutorId& id) { executors_.erase(id); }

void HostBook::report(const ExecutorId& id, CapacityReport capacity) {
  if (const auto found = executors_.find(id); found != executors_.end())
    found->second.capacity = std::move(capacity);
}

const Executor* HostBook::find(const ExecutorId& id) const {
  const auto found = executors_.find(id);
  return found == executors_.end() ? nullptr : &found->second;
}

std::size_t HostBook::host_cores(const std::string& boot_id) const {
  std::set<std::uint32_t> cores;
  for (const auto& [id, executor] : executors_)
    if (executor.host.boot_id == boot_id)
      cores.insert(executor.host.cores.begin(), executor.host.cores.end());
  return cores.size();
}

std::vector<ExecutorId> HostBook::lost_before(MonotonicTime time) const {
  std::vector<ExecutorId> found;
  for (const auto& [id, executor] : executors_)
    if (executor.state == ExecutorState::lost && executor.lost_at <= time) found.push_back(id);
  return found;
}

}  // namespace orchid::gateway
