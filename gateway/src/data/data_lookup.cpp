// What is asked of the catalogue: by requests that read, and for calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
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
  if (found && all_silent(**found))
    return fail(ErrorCode::data_lost, "no copy of '" + label_of(**found) +
                                          "' can be reached: the last one is on the host " +
                                          (*found)->holders.front().host +
                                          ", whose executor is gone; make it again");
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
  constexpr std::chrono::seconds longest_silence{30};
  const MonotonicTime now = parts_.loop.now();
  return std::ranges::all_of(object.holders, [&](const DataHolder& holder) {
    const Executor* executor = parts_.broker.hosts().find(holder.executor);
    return executor == nullptr ||
           (executor->state == ExecutorState::lost && now - executor->lost_at >= longest_silence);
  });
}

/// Its executor's connection has broken, and is waited for. It would not hear of a removal, which
/// is kept nowhere but here.
bool DataService::may_return(const DataObject& object) const {
  return !all_silent(object) && std::ranges::any_of(object.holders, [&](const auto& holder) {
    const Executor* executor = parts_.broker.hosts().find(holder.executor);
    return executor != nullptr && executor->state == ExecutorState::lost;
  });
}

Result<ReachableData> DataService::find(uid_t tenant, const DataReference& reference) const {
  auto found = lookup(tenant, reference);
  if (!found) return fail(std::move(found.error()));
  const DataObject& object = **found;
  for (const DataHolder& holder : object.holders)
    if (const Executor* executor = parts_.broker.hosts().find(holder.executor);
        executor != nullptr && executor->host.boot_id == parts_.broker.boot_id())
      return ReachableData{.object = object, .lane_socket = executor->lane_socket};
  return fail(ErrorCode::unreachable,
              "'" + label_of(object) + "' is on the host " + object.holders.front().host +
                  ", and the gateway reads data of its own host only: call a function with it "
                  "there, or fetch it from a gateway there");
}

Result<DataObject> DataService::describe(uid_t tenant, const DataReference& reference) const {
  auto found = lookup(tenant, reference);
  if (found) return **found;
  return fail(std::move(found.error()));
}

std::vector<DataObject> DataService::list(uid_t tenant) const {
  std::vector<DataObject> all;
  for (const DataObject* object : catalogue_.of_tenant(tenant))
    if (object->expires > parts_.loop.now()) {
      all.push_back(*object);
      if (object->state == DataState::lost || !all_silent(*object)) continue;
      all.back().state = DataState::lost;
      all.back().last_host = object->holders.front().host;
      all.back().why_lost = "its executor there is gone";
    }
  return all;
}

Result<void> DataService::remove(uid_t tenant, const DataReference& reference,
                                 const Precondition& precondition) {
  for (const DataObject* object : catalogue_.of_tenant(tenant))
    if (object->state == DataState::sealed && is_of(*object, reference) && may_return(*object))
      return fail(ErrorCode::unreachable,
                  "the executor on the host " + object->holders.front().host + " that has '" +
                      label_of(*object) +
                      "' is not connected, and would bring it back: try again in a few seconds");
  auto drops = catalogue_.remove(tenant, reference, precondition, parts_.loop.now());
  if (!drops) return fail(std::move(drops.error()));
  drop(*drops);
  return {};
}

namespace {

/// "climate@3 (1 GiB) is on n17 and n18".
std::string whereabouts(const DataObject& object) {
  std::vector<std::string> hosts;
  for (const DataHolder& holder : object.holders)
    hosts.push_back(fmt::format("{} (executor {})", holder.host, holder.executor.value()));
  return fmt::format("{} ({}) is on {}", label_of(object), to_string(object.bytes),
                     fmt::join(hosts, " and "));
}

}  // namespace

Result<std::shared_ptr<const CallData>> DataService::for_call(uid_t tenant,
                                                              std::string_view names) {
  const auto references = parse_data_list(names);
  if (!references) return fail(references.error());
  std::vector<const DataObject*> objects;
  std::map<ExecutorId, std::uint64_t> bytes;  // of those that the executor has
  std::map<ExecutorId, std::size_t> count;
  CallData data;
  for (const DataReference& reference : *references) {
    auto found = lookup(tenant, reference);
    if (!found) return fail(std::move(found.error()));
    objects.push_back(*found);
    data.ids.push_back((*found)->id);
    data.labels.push_back(label_of(**found));
    for (const DataHolder& holder : (*found)->holders) {
      bytes[holder.executor] += (*found)->bytes.value;
      ++count[holder.executor];
    }
  }
  const auto most = std::ranges::max_element(
      bytes, {}, [&](const auto& entry) { return std::pair(entry.second, count[entry.first]); });
  if (most != bytes.end() && count[most->first] == objects.size()) {
    data.at = placement::GrantId(most->first.value());
    const auto& holders = objects.front()->holders;
    data.host = std::ranges::find(holders, most->first, &DataHolder::executor)->host;
    data.keeper = keeper_of(data.ids);
    return std::make_shared<const CallData>(std::move(data));
  }
  std::vector<std::string> where;
  for (const DataObject* object : objects) where.push_back(whereabouts(*object));
  return fail(ErrorCode::data_elsewhere,
              fmt::format("no executor has all data of the call, and data is not copied between "
                          "them: {}; put them again, one after the other",
                          fmt::join(where, "; ")));
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
  for (const auto& [id, executor] : parts_.broker.hosts().executors()) {
    if (executor.state != ExecutorState::connected || !executor.data_memory) continue;
    budget += executor.data_memory->value;
    used += executor.capacity.data_used.value_or(ByteCount{}).value;
  }
  text.gauge("orchid_data_memory_bytes", "Memory of executors for data objects, in bytes.", budget);
  text.gauge("orchid_data_memory_used_bytes", "Of it, in use by objects and rooms.", used);
  text.gauge("orchid_data_objects", "Data objects with a copy.",
             catalogue_.count(DataState::sealed));
  text.gauge("orchid_data_rooms", "Data objects that are being written.",
             catalogue_.count(DataState::room));
  text.gauge("orchid_data_lost", "Data objects without a copy that are remembered.",
             catalogue_.count(DataState::lost));
  text.counter("orchid_data_made_total", "Data objects that were made.", made_);
  text.counter("orchid_data_abandoned_total", "Rooms whose body did not come whole.", abandoned_);
}

}  // namespace orchid::gateway
