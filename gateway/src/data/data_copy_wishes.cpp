// Which objects lack a copy, where one more should go, and which have one too many.
#include <algorithm>
#include <chrono>
#include <utility>

#include "data/data_copy_service.h"
#include "foundation/log.h"
#include "hosts/capacity.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::seconds look_interval{1};
/// An object leaves an executor whose grant ends within this, and what it takes to be moved.
constexpr std::chrono::seconds notice{60};
/// An executor that is away for longer may not come back.
constexpr std::chrono::seconds longest_absence{5};

}  // namespace

/// For longer than it takes to move the object.
bool DataCopyService::stays(const Executor& executor, const DataObject& object,
                            MonotonicTime now) const {
  const bool is_here =
      executor.state == ExecutorState::connected || now - executor.lost_at < longest_absence;
  const auto to_move = notice + std::chrono::seconds(object.bytes.value / options_.copies.slowest);
  return is_here && !executor.grant.draining && executor.ends - now >= to_move;
}

/// Those that have to be somewhere else before their executor goes, among others.
DataCopyService::Objects DataCopyService::on_leaving_executors(MonotonicTime now) const {
  Objects objects;
  for (const auto& [id, executor] : parts_.broker.hosts().executors()) {
    const std::uint64_t largest = executor.data_memory.value_or(ByteCount{}).value;
    const auto longest = notice + std::chrono::seconds(largest / options_.copies.slowest);
    if (executor.state == ExecutorState::connected && !executor.grant.draining &&
        executor.ends - now >= longest)
      continue;
    const Objects there = parts_.catalogue.sealed_at(id);
    objects.insert(objects.end(), there.begin(), there.end());
  }
  return objects;
}

/// The usual case, without a look at all executors.
bool DataCopyService::has_enough(const DataObject& object, MonotonicTime now) const {
  std::set<std::string> machines;
  for (const auto* holders : {&object.holders, &object.arriving})
    for (const DataHolder& holder : *holders)
      if (const Executor* executor = parts_.broker.hosts().find(holder.executor);
          executor != nullptr && stays(*executor, object, now))
        machines.insert(executor->host.boot_id);
  return machines.size() >= object.copies;
}

std::vector<CopyPlace> DataCopyService::places_for(const DataObject& object,
                                                   MonotonicTime now) const {
  std::vector<CopyPlace> places;
  for (const auto& [id, executor] : parts_.broker.hosts().executors()) {
    if (!executor.data_memory || !Capacity::serves(executor, object.tenant)) continue;
    places.push_back({.holder = {id, Capacity::name_of(executor)},
                      .machine = executor.host.boot_id,
                      .receives = receiver(id) != nullptr,
                      .stays = stays(executor, object, now),
                      .free = Capacity::free_for_data(executor, parts_.catalogue.used_at(id)),
                      .ends = executor.ends});
  }
  return places;
}

std::set<DataId> DataCopyService::awaited_by_calls() const {
  std::set<DataId> awaited;
  for (const Gathering& gathering : gatherings_)
    for (const DataReference& name : gathering.ids)
      if (name.id) awaited.insert(*name.id);
  return awaited;
}

/// There are enough on other machines that stay, and nobody has just had it brought.
bool DataCopyService::is_surplus(const DataObject& object, const ExecutorId& executor,
                                 MonotonicTime now) const {
  const auto is_until = [&](const std::map<Copy, MonotonicTime>& times, const ExecutorId& at) {
    const auto found = times.find({object.id, at});
    return found != times.end() && found->second > now;
  };
  if (is_until(arrived_, executor) || spared_.contains({object.id, executor})) return false;
  std::set<std::string> machines;
  for (const DataHolder& holder : object.holders) {
    const Executor* other = parts_.broker.hosts().find(holder.executor);
    const bool counts = other != nullptr && holder.executor != executor &&
                        other->state == ExecutorState::connected && stays(*other, object, now) &&
                        !spared_.contains({object.id, holder.executor});
    if (counts) machines.insert(other->host.boot_id);
  }
  return machines.size() >= object.copies;
}

/// The oldest first.
DataCopyService::Objects DataCopyService::surplus_at(const ExecutorId& executor,
                                                     MonotonicTime now) const {
  const std::set<DataId> awaited = awaited_by_calls();
  Objects surplus;
  for (const DataObject* object : parts_.catalogue.sealed_at(executor))
    if (object->bytes.value != 0 && !parts_.catalogue.is_arriving(object->id, executor) &&
        !awaited.contains(object->id) && is_surplus(*object, executor, now))
      surplus.push_back(object);
  std::ranges::sort(surplus, {},
                    [](const DataObject* one) { return std::pair(one->created, one->id); });
  return surplus;
}

/// False: all of them are not enough, and none goes.
bool DataCopyService::spare(const ExecutorId& executor, const Objects& surplus,
                            std::uint64_t needed) {
  std::uint64_t most = 0;
  for (const DataObject* object : surplus) most += object->bytes.value;
  if (most < needed || needed == 0) return false;
  std::uint64_t freed = 0;
  for (const DataObject* object : surplus) {
    if (freed >= needed) break;
    freed += object->bytes.value;
    spared_.emplace(object->id, executor);
    parts_.send(executor, SpareData{object->id});
    log::info("event=copy_spared data={} at={}", to_string(object->id), executor.value());
  }
  return true;
}

bool DataCopyService::make_room_at(const ExecutorId& executor, ByteCount bytes) {
  const Executor* there = receiver(executor);
  if (there == nullptr) return false;
  // What is to be made is among what is used there by the catalogue, and not by the executor's
  // word, which counts leases of memory instead.
  const std::uint64_t told = there->capacity.data_used.value_or(ByteCount{}).value;
  const std::uint64_t used = std::max(parts_.catalogue.used_at(executor).value, told + bytes.value);
  const std::uint64_t budget = there->data_memory->value;
  const std::uint64_t needed = used > budget ? used - budget : bytes.value;
  return spare(executor, surplus_at(executor, parts_.loop.now()), needed);
}

void DataCopyService::hear(const ExecutorId& executor, const SpareFor& question) {
  Objects surplus;
  if (receiver(executor) != nullptr) surplus = surplus_at(executor, parts_.loop.now());
  std::erase_if(surplus, [](const DataObject* object) { return object->name.empty(); });
  const bool enough = spare(executor, surplus, question.bytes.value);
  parts_.send(executor, DataSpared{.question = question.question, .enough = enough});
}

void DataCopyService::look_after_objects(MonotonicTime now) {
  if (now < next_look_) return;
  next_look_ = now + look_interval;
  std::erase_if(not_before_,
                [&](const auto& entry) { return entry.second.until + entry.second.length <= now; });
  std::erase_if(spared_,
                [&](const Copy& copy) { return !parts_.catalogue.has(copy.second, copy.first); });
  for (auto* times : {&arrived_, &evicted_})
    std::erase_if(*times, [&](const auto& entry) { return entry.second <= now; });
  const Objects leaving = on_leaving_executors(now);
  Work left = options_.one_look;
  for (std::size_t i = 0; i < leaving.size(); ++i) {
    if (!make_up_for(*leaving[leaving_turn_ % leaving.size()], now, left)) break;
    ++leaving_turn_;
  }
  left = options_.one_look;
  for (const DataObject* object : parts_.catalogue.sealed_after(looked_at_, left.objects)) {
    if (!make_up_for(*object, now, left)) break;
    looked_at_ = object->id;
  }
}

/// Orders what it lacks. False: that is more work than is left.
bool DataCopyService::make_up_for(const DataObject& object, MonotonicTime now, Work& left) {
  if (left.objects == 0 || left.places == 0) return false;
  --left.objects;
  ++work_.objects;
  if (has_enough(object, now)) return true;
  const std::vector<CopyPlace> places = places_for(object, now);
  left.places -= std::min(left.places, places.size());
  work_.places += places.size();
  std::set<ExecutorId> besides;
  for (const CopyPlace& place : places)
    if (evicted_.contains({object.id, place.holder.executor}))
      besides.insert(place.holder.executor);
  while (const auto to = place_for_copy(object, places, besides)) {
    if (begin(object, *to)) continue;
    besides.insert(to->executor);
  }
  return true;
}

}  // namespace orchid::gateway
