// The copies: what executors have, say and lose.
#include <algorithm>
#include <cassert>

#include "data/data_catalogue.h"
#include "foundation/log.h"
#include "protocol/limits.h"

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
  used_by_.at(object.tenant.uid) -= object.bytes.value;
  std::deque<DataId>& lost = lost_[object.tenant.uid];
  lost.push_back(object.id);
  if (lost.size() <= limits_.lost) return;
  const DataId oldest = lost.front();
  kept(oldest)->may_return.clear();  // it is forgotten, and was not removed by anybody
  DataDrops none;
  erase(oldest, none);
}

void DataCatalogue::forget_lost(const DataObject& object) {
  const auto lost = lost_.find(object.tenant.uid);
  std::erase(lost->second, object.id);
  if (lost->second.empty()) lost_.erase(lost);
}

void DataCatalogue::doom(const ExecutorId& executor, DataId id, uid_t tenant) {
  // More than it can have: it does not do what it is told, and this is not kept for it for ever.
  constexpr std::size_t most = 4 * limits::data_per_executor;
  std::map<DataId, uid_t>& doomed = at_[executor].doomed;
  if (doomed.size() >= most) doomed.erase(doomed.begin());
  doomed.emplace(id, tenant);
}

void DataCatalogue::doom_away(const ExecutorId& executor, DataId id, uid_t tenant) {
  if (!doomed_away_[executor].emplace(id, tenant).second) return;
  auto& all = doomings_away_[tenant];
  all.emplace_back(executor, id);
  if (all.size() <= limits_.removed_away) return;
  const auto& [away, oldest] = all.front();
  if (const auto found = doomed_away_.find(away); found != doomed_away_.end()) {
    found->second.erase(oldest);
    if (found->second.empty()) doomed_away_.erase(found);
  }
  all.pop_front();
}

/// What it was to drop before it was taken for gone, and has told now that it has. The rest stays:
/// another one may go by its name.
void DataCatalogue::remember_doomed(const ExecutorId& executor, const std::set<DataId>& told) {
  const auto away = doomed_away_.find(executor);
  if (away == doomed_away_.end()) return;
  std::erase_if(away->second, [&](const auto& entry) {
    const auto& [id, tenant] = entry;
    if (!told.contains(id)) return false;
    at_[executor].doomed.emplace(id, tenant);
    return true;
  });
  if (away->second.empty()) doomed_away_.erase(away);
}

DataDrops DataCatalogue::executor_joined(const DataHolder& holder, std::span<const DataHeld> held,
                                         std::optional<uid_t> only_tenant, MonotonicTime now) {
  DataDrops drops;
  std::set<DataId> told;
  for (const DataHeld& one : held) told.insert(one.data);
  AtExecutor& there = at_[holder.executor];
  const std::set<DataId> before = there.data;
  for (const DataId& id : before) {
    if (room(id) != nullptr) {
      // It may have been sealed with nobody to hear of it, and who wrote it is told that it is not.
      DataDrops told_below;
      erase(id, told_below);
    } else if (!told.contains(id)) {
      lose_copy(id, holder.executor, "its executor came back without it");
    }
  }
  remember_doomed(holder.executor, told);
  std::erase_if(there.doomed, [&](const auto& one) { return !told.contains(one.first); });
  for (const DataHeld& one : held) {
    if (there.doomed.contains(one.data)) {
      drops.push_back({holder.executor, one.data});
    } else if (!only_tenant || one.terms.tenant.uid == *only_tenant) {
      adopt(holder, one, drops, now);
      drop_old_versions({one.terms.tenant.uid, one.terms.name}, drops);
    }
  }
  if (there.data.empty() && there.doomed.empty()) at_.erase(holder.executor);
  return drops;
}

/// What an executor has and the books do not: this gateway was not there when it was made, or took
/// it for lost.
void DataCatalogue::adopt(const DataHolder& holder, const DataHeld& held, DataDrops& drops,
                          MonotonicTime now) {
  // An executor cannot use up the numbers that are left for a name.
  constexpr std::uint64_t largest_believed = 1ULL << 61U;
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
      used_by_.at(object.tenant.uid) += object.bytes.value;
      forget_lost(object);
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
                    .order = std::min(held.order, largest_believed),
                    .expires = data_end(terms.expires_in, now)};
  if (!object.name.empty() && !take_name(object, drops, now)) lose_name(object, now);
  by_tenant_[object.tenant.uid].insert(object.id);
  used_by_[object.tenant.uid] += object.bytes.value;
  if (object.expires != MonotonicTime::max()) expiries_.emplace(object.expires, object.id);
  Kept& entered = objects_[object.id];
  entered.object = std::move(object);
  hold(entered.object, holder);
}

/// False: the name went on without its executor, and the number is that of newer bytes.
bool DataCatalogue::take_name(DataObject& newcomer, DataDrops& drops, MonotonicTime now) {
  const NameKey key{newcomer.tenant.uid, newcomer.name};
  // A room that has the number gives way: nobody has seen it, and who writes it sends it again.
  if (names_[key].rooms.contains(newcomer.version)) {
    const std::set<DataId>& own = by_tenant_.at(key.first);
    const auto room = std::ranges::find_if(own, [&](const DataId& id) {
      const DataObject& object = objects_.at(id).object;
      return object.state == DataState::room && object.name == newcomer.name &&
             object.version == newcomer.version;
    });
    erase(*room, drops);
  }
  Name& name = names_[key];
  if (const auto taken = name.versions.find(newcomer.version); taken != name.versions.end()) {
    DataObject& other = objects_.at(taken->second).object;
    if (!is_older(other, newcomer)) return false;
    expiries_.erase({other.expires, other.id});
    lose_name(other, now);
    expiries_.emplace(other.expires, other.id);
  }
  name.versions[newcomer.version] = newcomer.id;
  name.newest = std::max(name.newest, newcomer.version);
  name.order = std::max(name.order, newcomer.order);
  return true;
}

/// It is found by its id for a while, so that who has that may still fetch it.
void DataCatalogue::lose_name(DataObject& object, MonotonicTime now) const {
  log::warn("event=data_version_taken data={} name={}", to_string(object.id), label_of(object));
  object.name.clear();
  object.version = 0;
  object.expires = std::min(object.expires, now + limits_.nameless_for);
}

void DataCatalogue::executor_gone(const ExecutorId& executor) {
  const auto there = at_.find(executor);
  if (there == at_.end()) return;
  const std::set<DataId> all = there->second.data;
  for (const DataId& id : all) {
    Kept& found = *kept(id);
    if (found.object.state == DataState::sealed)
      found.may_return.insert(executor);
    else if (found.object.order != 0)  // it may seal it yet, and who wrote it does not count on it
      doom_away(executor, id, found.object.tenant.uid);
    lose_copy(id, executor, "its executor there has ended");
  }
  // What it has not confirmed it still has, should it come back.
  for (const auto& [id, tenant] : at_.at(executor).doomed) doom_away(executor, id, tenant);
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
