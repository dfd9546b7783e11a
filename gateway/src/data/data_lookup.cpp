// What is asked of the catalogue: by requests that read, and for calls.
#include <algorithm>
#include <chrono>
#include <utility>

#include "data/data_service.h"

namespace orchid::gateway {

namespace {

bool is_of(const DataObject& object, const DataReference& reference) {
  if (reference.id) return object.id == *reference.id;
  return object.name == reference.name &&
         (!reference.version || object.version == *reference.version);
}

}  // namespace

Result<const DataObject*> DataService::lookup(uid_t tenant, const DataReference& reference) const {
  auto found = catalogue_.find(tenant, reference, parts_.loop.now());
  if (found && (*found)->holders.empty())
    return fail(ErrorCode::unreachable, "the host that had '" + label_of(**found) +
                                            "' has gone, and its copy on the host " +
                                            (*found)->arriving.front().host +
                                            " is not complete yet: try again");
  if (found && all_silent(**found))
    return fail(ErrorCode::data_lost, "no copy of '" + label_of(**found) +
                                          "' can be reached: the last one is on the host " +
                                          (*found)->holders.front().host +
                                          ", whose executor is gone" +
                                          ((*found)->durable ? "; it may have it in a file: start "
                                                               "one there again"
                                                             : "; make it again"));
  const bool may_come_back =
      !found && found.error().code == ErrorCode::not_found && parts_.loop.now() < executors_back_;
  if (!may_come_back) return found;
  return fail(ErrorCode::unreachable,
              "the gateway has just started and has not heard from all executors: '" +
                  to_string(reference) + "' may still come back; try again");
}

/// An executor whose connection has broken may come back, with all that it has; after so long that
/// is not waited for.
bool DataService::all_silent(const DataObject& object) const {
  return std::ranges::all_of(object.holders, [&](const DataHolder& holder) {
    const Executor* executor = parts_.broker.hosts().find(holder.executor);
    return executor == nullptr ||
           (executor->state == ExecutorState::lost && !is_waited_for(*executor));
  });
}

bool DataService::is_waited_for(const Executor& executor) const {
  constexpr std::chrono::seconds longest_silence{30};
  return executor.state == ExecutorState::lost &&
         parts_.loop.now() - executor.lost_at < longest_silence;
}

/// Where an executor has it, or is about to, whose connection has broken, and which is waited for.
/// It would not hear of a removal, which is kept nowhere but here. Null: nowhere.
const DataHolder* DataService::waited_for(const DataObject& object) const {
  for (const auto* holders : {&object.holders, &object.arriving})
    for (const DataHolder& holder : *holders)
      if (const Executor* executor = parts_.broker.hosts().find(holder.executor);
          executor != nullptr && is_waited_for(*executor))
        return &holder;
  return nullptr;
}

Result<void> DataService::check_room(uid_t tenant, DataId room) const {
  const DataObject* object = catalogue_.room(room);
  const bool is_its_own = object != nullptr && object->tenant.uid == tenant;
  if (!is_its_own || making_.contains(room))
    return fail(ErrorCode::not_found,
                "there is no room " + to_string(room) + ": it was given up, or is sealed");
  if (sealing_.contains(room))
    return fail(ErrorCode::conflict, "the room " + to_string(room) + " is being sealed");
  return {};
}

/// One that is connected, if there is such a holder.
Result<ReachableData> DataService::find(uid_t tenant, const DataReference& reference) const {
  auto found = lookup(tenant, reference);
  if (!found) return fail(std::move(found.error()));
  const DataObject& object = **found;
  const Executor* here = nullptr;
  const Executor* far = nullptr;
  for (const DataHolder& holder : object.holders) {
    const Executor* executor = parts_.broker.hosts().find(holder.executor);
    if (executor == nullptr) continue;
    if (!is_on_this_host(*executor)) {
      if (far_.reaches(*executor) && (far == nullptr || far_.is_out_of_reach(far->id)))
        far = executor;
    } else if (here == nullptr || executor->state == ExecutorState::connected) {
      here = executor;
    }
  }
  // One that does not answer may come back; another host's is there now.
  if (here != nullptr && (here->state == ExecutorState::connected || far == nullptr))
    return reachable(object, *here);
  if (far != nullptr) return reachable(object, *far);
  return fail(ErrorCode::unreachable,
              "'" + label_of(object) + "' is on the host " + object.holders.front().host +
                  ", whose executor is not connected, or cannot send data to this gateway: start "
                  "one of this release there, with --lane-listen, or call a function with it");
}

Result<DataObject> DataService::describe(uid_t tenant, const DataReference& reference) const {
  auto found = lookup(tenant, reference);
  if (found) return **found;
  return fail(std::move(found.error()));
}

void DataService::digest(uid_t tenant, const DataReference& reference, Done<DataObject> done) {
  auto found = lookup(tenant, reference);
  if (!found) return done(fail(std::move(found.error())));
  digests_.ask(**found, std::move(done));
}

void DataService::keep_as_file(uid_t tenant, const DataReference& reference,
                               std::optional<std::chrono::milliseconds> expires_in,
                               Done<DataObject> done) {
  auto found = lookup(tenant, reference);
  if (!found) return done(fail(std::move(found.error())));
  filing_.ask(**found, expires_in, std::move(done));
}

std::vector<DataObject> DataService::list(uid_t tenant) const {
  std::vector<DataObject> all;
  for (const DataObject* object : catalogue_.of_tenant(tenant))
    if (object->expires > parts_.loop.now()) {
      all.push_back(*object);
      if (object->holders.empty() || !all_silent(*object)) continue;
      all.back().state = DataState::lost;
      all.back().last_host = object->holders.front().host;
      all.back().why_lost = "its executor there is gone";
    }
  return all;
}

bool DataService::is_connected(const ExecutorId& executor) const {
  const Executor* found = parts_.broker.hosts().find(executor);
  return found != nullptr && found->state == ExecutorState::connected;
}

/// The durable ones among what such a removal is about.
Result<std::set<DataId>> DataService::files_to_remove(uid_t tenant,
                                                      const DataReference& reference) const {
  std::set<DataId> files;
  for (const DataObject* object : catalogue_.of_tenant(tenant)) {
    if (object->state != DataState::sealed || !is_of(*object, reference)) continue;
    if (const DataHolder* away = waited_for(*object))
      return fail(ErrorCode::unreachable,
                  "the executor on the host " + away->host + " that has '" + label_of(*object) +
                      "' is not connected, and would bring it back: try again in a few seconds");
    if (object->durable) files.insert(object->id);
  }
  return files;
}

void DataService::remove(uid_t tenant, const DataReference& reference,
                         const Precondition& precondition, Done<void> done) {
  const auto files = files_to_remove(tenant, reference);
  if (!files) return done(fail(files.error()));
  const MonotonicTime now = parts_.loop.now();
  auto drops = catalogue_.remove(tenant, reference, precondition, now);
  if (!drops) return done(fail(std::move(drops.error())));
  DataRemovals::Removal removal{
      .label = to_string(reference), .due = now + time_to_remove_files, .done = std::move(done)};
  for (const DataDrop& one : *drops)
    if (files->contains(one.data) && is_connected(one.executor))
      removal.files[one.data].insert(one.executor);
  drop(*drops);
  removals_.await(std::move(removal));
}

Result<DataObject> DataService::copy(uid_t tenant, const DataReference& reference,
                                     const WantedCopies& wanted) {
  auto found = lookup(tenant, reference);
  if (!found) return fail(std::move(found.error()));
  const DataObject& object = **found;
  if (!wanted.host.empty())
    if (auto begun = copies_.copy_to(object, wanted.host); !begun)
      return fail(std::move(begun.error()));
  if (wanted.count) copies_.want(object, *wanted.count);
  return object;
}

std::shared_ptr<const void> DataService::keeper_of(const std::vector<DataId>& ids) {
  for (const DataId& id : ids) catalogue_.use(id);
  const auto release = [this, ids, alive = std::weak_ptr(alive_)](const void* /*nothing*/) {
    if (alive.expired()) return;
    parts_.loop.post([this, ids](WorkerBroker& /*broker*/, MonotonicTime /*now*/) {
      DataDrops drops;
      for (const DataId& id : ids) catalogue_.release(id, drops);
      drop(drops);
    });
  };
  return {static_cast<const void*>(nullptr), release};
}

void DataService::add_metrics(MetricsText& text) const {
  std::uint64_t budget = 0;
  std::uint64_t used = 0;
  std::uint64_t on_disk = 0;
  std::uint64_t not_spilled = 0;
  std::uint64_t files_ignored = 0;
  for (const auto& [id, executor] : parts_.broker.hosts().executors()) {
    if (executor.state != ExecutorState::connected || !executor.data_memory) continue;
    budget += executor.data_memory->value;
    used += executor.capacity.data_used.value_or(ByteCount{}).value;
    const auto value = [&counters = executor.capacity.counters](const char* name) {
      const auto found = counters.find(name);
      return found == counters.end() ? std::uint64_t{0} : found->second;
    };
    on_disk += value("data_on_disk_bytes");
    not_spilled += value("data_not_spilled");
    files_ignored += value("data_files_ignored");
  }
  text.gauge("orchid_data_memory_bytes",
             "Memory of executors for data objects and leases of memory, in bytes.", budget);
  text.gauge("orchid_data_memory_used_bytes",
             "Of it, in use by objects, rooms and leases of memory.", used);
  text.gauge("orchid_data_on_disk_bytes",
             "Data that executors have put on disk for want of memory, in bytes.", on_disk);
  text.gauge("orchid_data_not_spilled",
             "How often the connected executors could not put data on disk.", not_spilled);
  text.gauge("orchid_data_files_ignored",
             "Files of durable data that connected executors have found and not taken.",
             files_ignored);
  text.gauge("orchid_data_objects", "Data objects with a copy.",
             catalogue_.count(DataState::sealed));
  text.gauge("orchid_data_rooms", "Data objects that are being written.",
             catalogue_.count(DataState::room));
  text.gauge("orchid_data_lost", "Data objects without a copy that are remembered.",
             catalogue_.count(DataState::lost));
  text.counter("orchid_data_made_total", "Data objects that were made.", made_);
  text.counter("orchid_data_abandoned_total", "Rooms whose body did not come whole.", abandoned_);
  copies_.add_metrics(text);
  far_.add_metrics(text);
}

}  // namespace orchid::gateway
