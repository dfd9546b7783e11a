#include "data/data_catalogue.h"

#include <algorithm>
#include <cassert>
#include <ranges>
#include <string_view>
#include <tuple>

namespace orchid::gateway {

std::string_view to_string(DataState state) {
  switch (state) {
    case DataState::room:
      return "room";
    case DataState::sealed:
      return "sealed";
    case DataState::lost:
      return "lost";
  }
  return "unknown";
}

std::string label_of(const DataObject& object) {
  return object.name.empty() ? to_string(object.id)
                             : object.name + "@" + std::to_string(object.version);
}

MonotonicTime data_end(std::optional<std::chrono::milliseconds> lives_for, MonotonicTime now) {
  constexpr std::chrono::years for_ever{100};
  if (!lives_for || *lives_for > for_ever) return MonotonicTime::max();
  return now + *lives_for;
}

bool is_older(const DataObject& left, const DataObject& right) {
  return std::tuple(left.order, left.created, left.version) <
         std::tuple(right.order, right.created, right.version);
}

namespace {

Failure not_found(const DataReference& reference) {
  return {ErrorCode::not_found, "there is no data object '" + to_string(reference) +
                                    "', or its time is over: see 'orchid data list'"};
}

Failure no_room() {
  return {ErrorCode::not_found,
          "its room was given up while it was written: its executor has gone or begun anew; send "
          "it again"};
}

}  // namespace

DataCatalogue::DataCatalogue(Limits limits, std::uint64_t epoch)
    : limits_(limits), order_(epoch << 32U) {}

DataCatalogue::Kept* DataCatalogue::kept(DataId id) {
  const auto found = objects_.find(id);
  return found == objects_.end() ? nullptr : &found->second;
}

const DataObject* DataCatalogue::newest_of(const Name& name) const {
  const DataObject* newest = nullptr;
  for (const auto& [version, id] : name.versions) {
    const DataObject& object = objects_.at(id).object;
    if (newest == nullptr || is_older(*newest, object)) newest = &object;
  }
  return newest;
}

Result<void> DataCatalogue::check(const NameKey& key, const Precondition& precondition) const {
  const auto name = names_.find(key);
  std::optional<std::string> now;
  std::string label = "not there";
  if (name != names_.end())
    if (const DataObject* newest = newest_of(name->second)) {
      now = to_string(newest->id);
      label = "version " + std::to_string(newest->version) + ", " + *now;
    }
  if (precondition.is_met_by(now)) return {};
  if (precondition.if_none_match && now)
    return fail(ErrorCode::conflict, "the name '" + key.second +
                                         "' is taken: choose another one, or leave If-None-Match "
                                         "out to make a new version of it");
  return fail(ErrorCode::conflict, "'" + key.second + "' is " + label +
                                       ", not what If-Match names: look at it again, then repeat");
}

Result<const DataObject*> DataCatalogue::make_room(NewObject wanted, MonotonicTime now) {
  const NameKey key{wanted.tenant.uid, wanted.name};
  if (!wanted.name.empty())
    if (auto checked = check(key, wanted.precondition); !checked)
      return fail(std::move(checked.error()));
  std::uint64_t used = used_by(key.first).value;
  if (has_besides_) used += has_besides_(key.first).value;
  const std::uint64_t most = limits_.per_tenant.value;
  if (most > 0 && (wanted.bytes.value > most || used > most - wanted.bytes.value))
    return fail(ErrorCode::quota, "you may keep " + to_string(limits_.per_tenant) +
                                      " of data and have " + to_string(ByteCount{used}) + ": " +
                                      to_string(wanted.bytes) +
                                      " more are too many; delete some of it ('orchid data list')");
  Kept& made = objects_[wanted.id];
  made.may_return = wanted.durable;  // with the next executor that has its file
  made.precondition = std::move(wanted.precondition);
  DataObject& object = made.object;
  object = {.id = wanted.id,
            .tenant = std::move(wanted.tenant),
            .bytes = wanted.bytes,
            .name = std::move(wanted.name),
            .secret = std::move(wanted.secret),
            .created = now,
            .expires = data_end(wanted.expires_in, now),
            .copies = wanted.copies,
            .durable = wanted.durable};
  if (!object.name.empty()) {
    Name& name = names_[key];
    object.version = std::max(name.newest, name.rooms.empty() ? 0 : *name.rooms.rbegin()) + 1;
    name.rooms.insert(object.version);
  }
  by_tenant_[key.first].insert(object.id);
  used_by_[key.first] += object.bytes.value;
  return &object;
}

void DataCatalogue::put_room(DataId id, DataHolder holder) {
  Kept* found = kept(id);
  assert(found != nullptr && found->object.state == DataState::room);
  DataObject& object = found->object;
  while (!object.holders.empty())
    let_go(object, ExecutorId(object.holders.back().executor));  // a copy of what goes
  hold(object, std::move(holder));
}

DataDrops DataCatalogue::abandon(DataId id) {
  DataDrops drops;
  if (room(id) != nullptr) erase(id, drops);
  return drops;
}

Result<bool> DataCatalogue::begin_to_seal(DataId id, DataDrops& drops) {
  if (room(id) == nullptr) return fail(no_room());
  Kept& found = *kept(id);
  DataObject& object = found.object;
  ++order_;
  object.order = order_;
  if (object.name.empty()) return true;
  const NameKey key{object.tenant.uid, object.name};
  Name& name = names_.at(key);
  if (name.sealing) return *name.sealing == id;
  if (auto checked = check(key, found.precondition); !checked) {
    erase(id, drops);
    return fail(std::move(checked.error()));
  }
  name.sealing = id;
  // Those that an executor has brought back may have been given theirs on another state directory.
  name.order = std::max(name.order + 1, order_);
  object.order = name.order;
  return true;
}

Result<const DataObject*> DataCatalogue::publish(DataId id, DataDrops& drops, MonotonicTime now) {
  if (room(id) == nullptr) return fail(no_room());
  Kept* found = kept(id);
  DataObject& object = found->object;
  const NameKey key{object.tenant.uid, object.name};
  if (!object.name.empty()) {
    Name& name = names_.at(key);
    assert(name.sealing == id && "nobody else has its name while it is sealed");
    name.sealing.reset();
    name.rooms.erase(object.version);
    name.versions.emplace(object.version, id);
    name.newest = std::max(name.newest, object.version);
  }
  object.state = DataState::sealed;
  // It lives from now on, however long it took to be written.
  if (object.expires != MonotonicTime::max()) {
    object.expires += now - object.created;
    expiries_.emplace(object.expires, id);
  }
  object.created = now;
  found->precondition = {};
  found->is_wish_said = true;
  holders_changed();
  if (!object.name.empty()) drop_old_versions(key, drops);
  return &object;
}

const DataObject& DataCatalogue::publish_unconfirmed(DataId id, MonotonicTime now) {
  DataDrops none;
  [[maybe_unused]] const auto begun = begin_to_seal(id, none);
  assert(begun && *begun && "a room without a precondition, whose name is not being sealed");
  Kept& found = *kept(id);
  found.unconfirmed = found.object.holders.front().executor;
  return **publish(id, none, now);
}

bool DataCatalogue::is_sealing(uid_t tenant, const std::string& name) const {
  const auto found = names_.find({tenant, name});
  return found != names_.end() && found->second.sealing.has_value();
}

const DataObject* DataCatalogue::lookup(uid_t tenant, const DataReference& reference,
                                        MonotonicTime now) const {
  std::optional<DataId> id = reference.id;
  if (!id) {
    const auto name = names_.find({tenant, reference.name});
    if (name == names_.end()) return nullptr;
    if (reference.version) {
      const auto version = name->second.versions.find(*reference.version);
      if (version == name->second.versions.end()) return nullptr;
      id = version->second;
    } else {
      const DataObject* newest = newest_of(name->second);
      if (newest == nullptr) return nullptr;
      id = newest->id;
    }
  }
  const auto found = objects_.find(*id);
  if (found == objects_.end()) return nullptr;
  const DataObject& object = found->second.object;
  const bool is_there =
      object.tenant.uid == tenant && object.state != DataState::room && object.expires > now;
  return is_there ? &object : nullptr;
}

Result<const DataObject*> DataCatalogue::find(uid_t tenant, const DataReference& reference,
                                              MonotonicTime now) const {
  const DataObject* object = lookup(tenant, reference, now);
  if (object == nullptr) return fail(not_found(reference));
  if (object->state == DataState::lost)
    return fail(ErrorCode::data_lost,
                "no copy of '" + label_of(*object) + "' is left: the last one was on the host " +
                    object->last_host + ", and " + object->why_lost + "; make it again");
  return object;
}

Result<DataDrops> DataCatalogue::remove(uid_t tenant, const DataReference& reference,
                                        const Precondition& precondition, MonotonicTime now) {
  const DataObject* object = lookup(tenant, reference, now);
  if (object == nullptr) return fail(not_found(reference));
  if (!precondition.is_met_by(to_string(object->id)))
    return fail(ErrorCode::conflict, "'" + label_of(*object) + "' is " + to_string(object->id) +
                                         ": look at it again, then repeat");
  if (is_being_replaced(*object))
    return fail(ErrorCode::conflict, "'" + object->name +
                                         "' is just getting a new version, on condition that this "
                                         "one is there: look at it again, then repeat");
  std::vector<DataId> going{object->id};
  if (!reference.id && !reference.version) {
    going.clear();
    for (const auto& [version, id] : names_.at({tenant, reference.name}).versions)
      going.push_back(id);
  }
  DataDrops drops;
  for (const DataId& id : going) erase(id, drops);
  return drops;
}

bool DataCatalogue::is_being_replaced(const DataObject& object) const {
  const auto name = names_.find({object.tenant.uid, object.name});
  return name != names_.end() && name->second.sealing && newest_of(name->second) == &object &&
         !objects_.at(*name->second.sealing).precondition.if_match.empty();
}

std::vector<const DataObject*> DataCatalogue::of_tenant(uid_t tenant) const {
  std::vector<const DataObject*> all;
  const auto own = by_tenant_.find(tenant);
  if (own == by_tenant_.end()) return all;
  for (const DataId& id : own->second)
    if (const DataObject& object = objects_.at(id).object; object.state != DataState::room)
      all.push_back(&object);
  std::ranges::sort(all, [](const DataObject* left, const DataObject* right) {
    return std::tuple(left->name.empty(), std::string_view(left->name), left->version, left->id) <
           std::tuple(right->name.empty(), std::string_view(right->name), right->version,
                      right->id);
  });
  return all;
}

DataDrops DataCatalogue::expire(MonotonicTime now) {
  DataDrops drops;
  while (!expiries_.empty() && expiries_.begin()->first <= now)
    erase(expiries_.begin()->second, drops);
  return drops;
}

const DataObject* DataCatalogue::room(DataId id) const {
  const auto found = objects_.find(id);
  return found != objects_.end() && found->second.object.state == DataState::room
             ? &found->second.object
             : nullptr;
}

const DataObject* DataCatalogue::sealed(DataId id) const {
  const auto found = objects_.find(id);
  return found != objects_.end() && found->second.object.state == DataState::sealed
             ? &found->second.object
             : nullptr;
}

ByteCount DataCatalogue::used_at(const ExecutorId& executor) const {
  const auto found = at_.find(executor);
  return {found == at_.end() ? 0 : found->second.bytes};
}

ByteCount DataCatalogue::used_at(const ExecutorId& executor, uid_t tenant) const {
  const auto found = at_.find(executor);
  if (found == at_.end()) return {};
  const auto own = found->second.bytes_of.find(tenant);
  return {own == found->second.bytes_of.end() ? 0 : own->second};
}

ByteCount DataCatalogue::used_by(uid_t tenant) const {
  const auto found = used_by_.find(tenant);
  return {found == used_by_.end() ? 0 : found->second};
}

std::size_t DataCatalogue::count(DataState state) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      objects_, [state](const auto& entry) { return entry.second.object.state == state; }));
}

void DataCatalogue::erase(DataId id, DataDrops& drops) {
  Kept* found = kept(id);
  assert(found != nullptr);
  DataObject& object = found->object;
  while (!object.holders.empty() || !object.arriving.empty()) {
    const auto& some = object.holders.empty() ? object.arriving : object.holders;
    const ExecutorId executor = some.back().executor;
    let_go(object, executor);
    doom(executor, id, object.tenant.uid);
    drops.push_back({executor, id});
  }
  if (found->may_return) remember_removed(id, object.tenant.uid);
  if (object.state == DataState::lost)
    forget_lost(object);
  else
    used_by_.at(object.tenant.uid) -= object.bytes.value;
  expiries_.erase({object.expires, id});
  auto own = by_tenant_.find(object.tenant.uid);
  own->second.erase(id);
  if (own->second.empty()) {
    used_by_.erase(object.tenant.uid);
    by_tenant_.erase(own);
  }
  const NameKey key{object.tenant.uid, object.name};
  if (const auto name = names_.find(key); name != names_.end()) {
    if (object.state == DataState::room)
      name->second.rooms.erase(object.version);
    else
      name->second.versions.erase(object.version);
    if (name->second.sealing == id) name->second.sealing.reset();
  }
  objects_.erase(id);
  forget_name_if_unused(key);
  holders_changed();
}

void DataCatalogue::forget_name_if_unused(const NameKey& key) {
  const auto name = names_.find(key);
  if (name != names_.end() && name->second.versions.empty() && name->second.rooms.empty())
    names_.erase(name);
}

/// Of those that an executor brings back perhaps the one that has just come. Those that calls are
/// given go when these have ended. One that may still vanish takes nobody's place.
void DataCatalogue::drop_old_versions(const NameKey& key, DataDrops& drops) {
  const auto name = names_.find(key);
  if (name == names_.end() || name->second.versions.size() <= limits_.versions) return;
  std::vector<const DataObject*> newest_first;
  for (const auto& [version, id] : name->second.versions)
    if (const Kept& found = objects_.at(id); !found.unconfirmed)
      newest_first.push_back(&found.object);
  std::ranges::sort(newest_first, [](const DataObject* left, const DataObject* right) {
    return is_older(*right, *left);
  });
  for (const DataObject* old : newest_first | std::views::drop(limits_.versions))
    if (objects_.at(old->id).users == 0) erase(old->id, drops);
}

void DataCatalogue::use(DataId id) {
  Kept* found = kept(id);
  assert(found != nullptr);
  ++found->users;
}

/// It may have been removed, and have come back with an executor.
void DataCatalogue::release(DataId id, DataDrops& drops) {
  Kept* found = kept(id);
  if (found == nullptr || found->users == 0) return;
  --found->users;
  if (found->users > 0) return;
  if (const DataObject& object = found->object; !object.name.empty())
    drop_old_versions({object.tenant.uid, object.name}, drops);
}

}  // namespace orchid::gateway
