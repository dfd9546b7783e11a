// The copies: what executors have, say and lose.
#include <algorithm>
#include <cassert>

#include "data/data_catalogue.h"
#include "foundation/log.h"

namespace orchid::gateway {

void DataCatalogue::hold(DataObject& object, DataHolder holder) {
  AtExecutor& there = at_[holder.executor];
  if (!there.data.insert(object.id).second) return;
  there.bytes += object.bytes.value;
  object.holders.push_back(std::move(holder));
}

void DataCatalogue::let_go(DataObject& object, const ExecutorId& executor) {
  const auto holder = std::ranges::find(object.holders, executor, &DataHolder::executor);
  assert(holder != object.holders.end());
  object.last_host = holder->host;
  object.holders.erase(holder);
  AtExecutor& there = at_.at(executor);
  there.data.erase(object.id);
  there.bytes -= object.bytes.value;
}

bool DataCatalogue::has(const ExecutorId& executor, DataId id) const {
  const auto there = at_.find(executor);
  return there != at_.end() && there->second.data.contains(id);
}

void DataCatalogue::lose_copy(DataId id, const ExecutorId& executor, const std::string& why) {
  DataObject& object = kept(id)->object;
  let_go(object, executor);
  if (!object.holders.empty()) return;
  if (object.state == DataState::room) {
    DataDrops none;
    return erase(id, none);
  }
  object.why_lost = why;
  became_lost(object);
}

void DataCatalogue::became_lost(DataObject& object) {
  object.state = DataState::lost;
  auto used = used_by_.find(object.tenant.uid);
  used->second -= object.bytes.value;
  if (used->second == 0) used_by_.erase(used);
  std::deque<DataId>& lost = lost_[object.tenant.uid];
  lost.push_back(object.id);
  while (lost.size() > limits_.lost) {
    const DataId oldest = lost.front();
    lost.pop_front();
    DataDrops none;
    Kept* found = kept(oldest);
    if (found == nullptr || found->object.state != DataState::lost) continue;
    found->may_return.clear();  // it is forgotten, and was not removed by anybody
    erase(oldest, none);
  }
}

void DataCatalogue::doom_away(const ExecutorId& executor, DataId id) {
  if (!doomed_away_[executor].insert(id).second) return;
  doomings_away_.emplace_back(executor, id);
  while (doomings_away_.size() > limits_.removed_away) {
    const auto& [away, oldest] = doomings_away_.front();
    if (const auto found = doomed_away_.find(away); found != doomed_away_.end()) {
      found->second.erase(oldest);
      if (found->second.empty()) doomed_away_.erase(found);
    }
    doomings_away_.pop_front();
  }
}

DataDrops DataCatalogue::executor_joined(const DataHolder& holder, std::span<const DataHeld> held,
                                         std::optional<uid_t> only_tenant, MonotonicTime now) {
  DataDrops drops;
  std::set<DataId> told;
  for (const DataHeld& one : held) told.insert(one.data);
  AtExecutor& there = at_[holder.executor];
  const std::set<DataId> before = there.data;
  for (const DataId& id : before)
    if (!told.contains(id) || room(id) != nullptr)
      lose_copy(id, holder.executor, "its executor came back without it");
  if (auto away = doomed_away_.extract(holder.executor)) {
    there.doomed.merge(away.mapped());
    std::erase_if(doomings_away_, [&](const auto& one) { return one.first == holder.executor; });
  }
  std::erase_if(there.doomed, [&](const DataId& id) { return !told.contains(id); });
  for (const DataHeld& one : held) {
    if (there.doomed.contains(one.data)) {
      drops.push_back({holder.executor, one.data});
    } else if (!only_tenant || one.terms.tenant.uid == *only_tenant) {
      adopt(holder, one, now);
      drop_old_versions({one.terms.tenant.uid, one.terms.name}, drops);
    }
  }
  if (there.data.empty() && there.doomed.empty()) at_.erase(holder.executor);
  return drops;
}

/// What an executor has and the books do not: this gateway was not there when it was made, or took
/// it for lost.
void DataCatalogue::adopt(const DataHolder& holder, const DataHeld& held, MonotonicTime now) {
  const DataTerms& terms = held.terms;
  if (Kept* found = kept(held.data)) {
    DataObject& object = found->object;
    const bool is_same = object.tenant.uid == terms.tenant.uid && object.bytes == terms.bytes &&
                         object.state != DataState::room && object.secret == terms.secret;
    if (!is_same)
      return log::warn("event=data_not_believed executor={} data={}", holder.executor.value(),
                       to_string(held.data));
    if (object.state == DataState::lost) {
      object.state = DataState::sealed;
      used_by_[object.tenant.uid] += object.bytes.value;
      std::erase(lost_[object.tenant.uid], object.id);
    }
    found->may_return.erase(holder.executor);
    return hold(object, holder);
  }
  DataObject object{.id = held.data,
                    .tenant = terms.tenant,
                    .bytes = terms.bytes,
                    .name = terms.name,
                    .version = terms.version,
                    .secret = terms.secret,
                    .state = DataState::sealed,
                    .created = now - held.created_ago,
                    .expires = data_end(terms.expires_in, now)};
  if (!object.name.empty() && !take_name(object)) {
    // Its bytes are still found by their id.
    log::warn("event=data_version_taken executor={} data={} name={}", holder.executor.value(),
              to_string(held.data), label_of(object));
    object.name.clear();
    object.version = 0;
  }
  by_tenant_[object.tenant.uid].insert(object.id);
  used_by_[object.tenant.uid] += object.bytes.value;
  if (object.expires != MonotonicTime::max()) expiries_.emplace(object.expires, object.id);
  Kept& entered = objects_[object.id];
  entered.object = std::move(object);
  hold(entered.object, holder);
}

/// False: the name went on without its executor, and the number is that of newer bytes.
bool DataCatalogue::take_name(DataObject& newcomer) {
  Name& name = names_[{newcomer.tenant.uid, newcomer.name}];
  if (name.rooms.contains(newcomer.version)) return false;
  if (const auto taken = name.versions.find(newcomer.version); taken != name.versions.end()) {
    DataObject& other = objects_.at(taken->second).object;
    if (!(other.created < newcomer.created)) return false;
    log::warn("event=data_version_taken data={} name={}", to_string(other.id), label_of(other));
    other.name.clear();
    other.version = 0;
  }
  name.versions[newcomer.version] = newcomer.id;
  name.newest = std::max(name.newest, newcomer.version);
  return true;
}

void DataCatalogue::executor_gone(const ExecutorId& executor) {
  const auto there = at_.find(executor);
  if (there == at_.end()) return;
  const std::set<DataId> all = there->second.data;
  for (const DataId& id : all) {
    if (Kept* found = kept(id); found->object.state == DataState::sealed)
      found->may_return.insert(executor);
    lose_copy(id, executor, "its executor there has ended");
  }
  // What it has not confirmed it still has, should it come back.
  for (const DataId& id : at_.at(executor).doomed) doom_away(executor, id);
  at_.erase(executor);
}

void DataCatalogue::dropped(const ExecutorId& executor, DataId id, DataEnd reason) {
  const auto there = at_.find(executor);
  if (there == at_.end()) return;
  there->second.doomed.erase(id);
  if (there->second.data.contains(id)) {
    const DataObject& object = kept(id)->object;
    DataDrops others;
    if (reason == DataEnd::expired && object.holders.size() == 1)
      erase(id, others);  // nobody is to be told: it has gone there
    else
      lose_copy(id, executor,
                reason == DataEnd::evicted ? "it made room for others there"
                                           : "its executor has dropped it");
    at_[executor].doomed.erase(id);
  }
  const auto now_there = at_.find(executor);
  if (now_there->second.data.empty() && now_there->second.doomed.empty()) at_.erase(now_there);
}

}  // namespace orchid::gateway
