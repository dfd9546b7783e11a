// The copies: what executors have, say and lose.
#include <algorithm>
#include <cassert>

#include "data/data_catalogue.h"
#include "foundation/log.h"
#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

const char* why_dropped(DataEnd reason) {
  if (reason == DataEnd::evicted)
    return "it made room for others there (where that happens often, start the executor with a "
           "larger --data-memory)";
  if (reason == DataEnd::spoiled) return "its file there is not what was written";
  return "its executor has dropped it";
}

}  // namespace

bool DataCatalogue::AtExecutor::add(const DataObject& object) {
  if (!data.insert(object.id).second) return false;
  if (object.bytes.value == 0) return true;
  bytes += object.bytes.value;
  bytes_of[object.tenant.uid] += object.bytes.value;
  return true;
}

void DataCatalogue::AtExecutor::remove(const DataObject& object) {
  if (data.erase(object.id) == 0 || object.bytes.value == 0) return;
  bytes -= object.bytes.value;
  const auto own = bytes_of.find(object.tenant.uid);
  own->second -= object.bytes.value;
  if (own->second == 0) bytes_of.erase(own);
}

std::vector<ExecutorId> DataCatalogue::executors() const {
  std::vector<ExecutorId> all;
  for (const auto& [executor, there] : at_) all.push_back(executor);
  return all;
}

void DataCatalogue::hold(DataObject& object, DataHolder holder) {
  if (at_[holder.executor].add(object)) object.holders.push_back(std::move(holder));
  holders_changed();
}

void DataCatalogue::let_go(DataObject& object, const ExecutorId& executor) {
  if (!stop_arriving(object, executor)) {
    const auto holder = std::ranges::find(object.holders, executor, &DataHolder::executor);
    assert(holder != object.holders.end());
    object.last_host = holder->host;
    object.holders.erase(holder);
  }
  at_.at(executor).remove(object);
  holders_changed();
}

bool DataCatalogue::stop_arriving(DataObject& object, const ExecutorId& executor) {
  kept(object.id)->counted_on.erase(executor);
  return std::erase_if(object.arriving,
                       [&](const DataHolder& one) { return one.executor == executor; }) != 0;
}

bool DataCatalogue::is_arriving(DataId id, const ExecutorId& executor) const {
  const auto found = objects_.find(id);
  return found != objects_.end() &&
         std::ranges::find(found->second.object.arriving, executor, &DataHolder::executor) !=
             found->second.object.arriving.end();
}

bool DataCatalogue::has(const ExecutorId& executor, DataId id) const {
  const auto there = at_.find(executor);
  return there != at_.end() && there->second.data.contains(id);
}

void DataCatalogue::lose_copy(DataId id, const ExecutorId& executor, const std::string& why) {
  DataObject& object = kept(id)->object;
  // Its call has not succeeded: it is not lost, it never was.
  if (kept(id)->unconfirmed == executor) return erase_expired(id, executor);
  const bool was_arriving = is_arriving(id, executor);
  let_go(object, executor);
  if (object.state == DataState::room) {
    DataDrops none;
    return erase(id, none);
  }
  if (!was_arriving) object.why_lost = why;
  lose_if_nowhere(id);
}

/// A copy that may be whole is looked at first.
void DataCatalogue::lose_if_nowhere(DataId id) {
  Kept& found = *kept(id);
  if (found.object.state == DataState::sealed && found.object.holders.empty() &&
      found.counted_on.empty())
    became_lost(found.object);
}

/// There is nobody any more to copy it from.
void DataCatalogue::became_lost(DataObject& object) {
  object.state = DataState::lost;
  holders_changed();
  used_by_.at(object.tenant.uid) -= object.bytes.value;
  while (!object.arriving.empty()) {
    const ExecutorId executor = object.arriving.back().executor;
    let_go(object, executor);
    doom(executor, object.id, object.tenant.uid);
    orphans_.push_back({executor, object.id});
  }
  std::deque<DataId>& lost = lost_[object.tenant.uid];
  lost.push_back(object.id);
  if (lost.size() <= limits_.lost) return;
  const DataId oldest = lost.front();
  kept(oldest)->may_return = false;  // it is forgotten, and was not removed by anybody
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

void DataCatalogue::remember_removed(DataId id, uid_t tenant) {
  Removed& removed = removed_[tenant];
  if (!removed.data.insert(id).second) return;
  removed.in_order.push_back(id);
  if (removed.in_order.size() <= limits_.removed_away) return;
  removed.data.erase(removed.in_order.front());
  removed.in_order.pop_front();
}

bool DataCatalogue::was_removed(DataId id, uid_t tenant) const {
  const auto removed = removed_.find(tenant);
  return removed != removed_.end() && removed->second.data.contains(id);
}

DataDrops DataCatalogue::executor_joined(const DataHolder& holder, std::span<const DataHeld> held,
                                         std::optional<uid_t> only_tenant, MonotonicTime now) {
  DataDrops drops;
  std::set<DataId> told;
  for (const DataHeld& one : held) told.insert(one.data);
  AtExecutor& there = at_[holder.executor];
  const std::set<DataId> before = there.data;
  for (const DataId& id : before) {
    if (kept(id)->unconfirmed == holder.executor && told.contains(id)) {
      // What said so was lost with the connection. Below it is one of those that are told of.
      kept(id)->unconfirmed.reset();
    } else if (room(id) != nullptr) {
      // It may have been sealed with nobody to hear of it, and who wrote it is told that it is not.
      DataDrops told_below;
      erase(id, told_below);
    } else if (!told.contains(id) || is_arriving(id, holder.executor)) {
      lose_copy(id, holder.executor, "its executor came back without it");
    }
  }
  for (const DataHeld& one : held)
    if (was_removed(one.data, one.terms.tenant.uid))
      doom(holder.executor, one.data, one.terms.tenant.uid);
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
    if (object.digest.empty()) object.digest = held.digest;
    // Who was away when fewer or more were wished for has the old number.
    if (!found->is_wish_said) object.copies = std::max(object.copies, terms.copies);
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
                    .expires = data_end(terms.expires_in, now),
                    .copies = terms.copies,
                    .durable = terms.durable,
                    .digest = held.digest};
  if (!object.name.empty() && !take_name(object, drops, now)) lose_name(object, now);
  by_tenant_[object.tenant.uid].insert(object.id);
  used_by_[object.tenant.uid] += object.bytes.value;
  if (object.expires != MonotonicTime::max()) expiries_.emplace(object.expires, object.id);
  Kept& entered = objects_[object.id];
  entered.object = std::move(object);
  entered.may_return = true;
  hold(entered.object, holder);
}

/// The first one holds: it never changes.
const DataObject* DataCatalogue::keep_digest(DataId id, const std::string& digest) {
  Kept* found = kept(id);
  if (found == nullptr || found->object.state != DataState::sealed) return nullptr;
  if (found->object.digest.empty()) found->object.digest = digest;
  return &found->object;
}

const DataObject* DataCatalogue::keep_file(DataId id,
                                           std::optional<std::chrono::milliseconds> expires_in,
                                           MonotonicTime now) {
  Kept* found = kept(id);
  if (found == nullptr || found->object.state != DataState::sealed) return nullptr;
  DataObject& object = found->object;
  object.durable = true;
  found->may_return = true;
  const MonotonicTime end = data_end(expires_in, now);
  if (expires_in && object.expires != MonotonicTime::max() && object.expires < end) {
    expiries_.erase({object.expires, id});
    object.expires = end;
    if (end != MonotonicTime::max()) expiries_.emplace(end, id);
  }
  return &object;
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
  holders_changed();
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
    // What it has not confirmed it drops, or keeps and tells of when it comes back.
    if (found.unconfirmed == executor) {
      lose_copy(id, executor, "its executor there has ended");
      at_.at(executor).doomed.erase(id);
      continue;
    }
    // Also with a copy that it may have sealed meanwhile; or with a room that it may seal yet, when
    // who wrote it does not count on it.
    found.may_return |= found.object.order != 0;
    lose_copy(id, executor,
              found.object.durable ? "its executor there has ended, which may have "
                                     "it in a file: start one there again"
                                   : "its executor there has ended");
  }
  // What it has not confirmed it still has, should it come back.
  for (const auto& [id, tenant] : at_.at(executor).doomed)
    if (Kept* other_copies = kept(id))
      other_copies->may_return = true;
    else
      remember_removed(id, tenant);
  at_.erase(executor);
}

bool DataCatalogue::confirm(DataId id, const ExecutorId& executor, DataDrops& drops) {
  Kept* found = kept(id);
  if (found == nullptr || found->unconfirmed != executor) return false;
  found->unconfirmed.reset();
  if (const DataObject& object = found->object; !object.name.empty())
    drop_old_versions({object.tenant.uid, object.name}, drops);
  return true;
}

/// Nobody is to be told of the copy that has gone, and those where one is being written are.
void DataCatalogue::erase_expired(DataId id, const ExecutorId& gone_from) {
  DataDrops others;
  erase(id, others);
  for (DataDrop& drop : others)
    if (drop.executor != gone_from) orphans_.push_back(std::move(drop));
}

void DataCatalogue::dropped(const ExecutorId& executor, DataId id, DataEnd reason) {
  const auto there = at_.find(executor);
  if (there == at_.end()) return;
  there->second.doomed.erase(id);
  // What was to be dropped there before the room for the copy was made.
  const bool is_earlier = reason == DataEnd::deleted && is_arriving(id, executor);
  if (there->second.data.contains(id) && !is_earlier) {
    const DataObject& object = kept(id)->object;
    const bool is_last = object.holders.size() == 1 && !is_arriving(id, executor);
    if (reason == DataEnd::expired && is_last)
      erase_expired(id, executor);
    else
      lose_copy(id, executor, why_dropped(reason));
    at_[executor].doomed.erase(id);
  }
  const auto now_there = at_.find(executor);
  if (now_there->second.data.empty() && now_there->second.doomed.empty()) at_.erase(now_there);
}

}  // namespace orchid::gateway
