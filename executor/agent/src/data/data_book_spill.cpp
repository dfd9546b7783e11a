// What is on disk: chosen by when it was used, and charged to the disk in place of the budget.
#include <algorithm>
#include <utility>

#include "data/data_book.h"

namespace orchid::executor {

bool DataBook::fits(const Demand& demand) const {
  return over_share(demand).value == 0 && over_budget(demand, {}).value == 0;
}

/// What is others' does not help a tenant that has too much.
ByteCount DataBook::lacking(const Demand& demand) const {
  if (demand.bytes > options_.budget) return {};
  std::uint64_t all = 0;
  std::uint64_t own = 0;
  for (const auto& [data, object] : objects_) {
    if (!object.may_be_evicted()) continue;
    all += object.in_memory().value;
    if (object.terms.tenant.uid == demand.tenant) own += object.in_memory().value;
  }
  if (over_share(demand).value > own) return {};
  return over_budget(demand, {all});
}

ByteCount DataBook::part_of_tenant(ByteCount disk) const {
  if (options_.per_tenant >= options_.budget) return disk;
  const double part =
      static_cast<double>(options_.per_tenant.value) / static_cast<double>(options_.budget.value);
  return {static_cast<std::uint64_t>(static_cast<double>(disk.value) * part)};
}

std::optional<DataId> DataBook::next_to_spill(const Demand& demand) const {
  if (fits(demand)) return std::nullopt;
  // What is the tenant's own helps against both.
  const ByteCount own = over_share(demand);
  const bool only_own = own.value != 0;
  const std::uint64_t wanted = only_own ? own.value : over_budget(demand, {}).value;
  std::vector<Objects::const_iterator> candidates;
  for (auto object = objects_.begin(); object != objects_.end(); ++object)
    if (object->second.may_be_spilled() &&
        (!only_own || object->second.terms.tenant.uid == demand.tenant))
      candidates.push_back(object);
  std::ranges::sort(candidates, {}, [](const auto& object) {
    return std::pair(object->second.used, object->first);
  });
  std::optional<DataId> first;
  std::uint64_t found = 0;
  std::uint64_t disk = used_.on_disk.value;
  std::map<std::uint32_t, std::uint64_t> disk_of;
  for (const auto& object : candidates) {
    const std::uint32_t tenant = object->second.terms.tenant.uid;
    const std::uint64_t bytes = object->second.terms.bytes.value;
    const std::uint64_t written = object->second.has_file ? 0 : bytes;
    std::uint64_t& of_tenant =
        disk_of.try_emplace(tenant, share_of(tenant).on_disk.value).first->second;
    const bool is_full = disk + written > options_.disk.value ||
                         of_tenant + written > part_of_tenant(options_.disk).value;
    if (is_full && written != 0) continue;
    if (!first) first = object->first;
    disk += written;
    of_tenant += written;
    found += bytes;
    if (found >= wanted) return first;
  }
  return std::nullopt;
}

void DataBook::put_on_disk(const Object& object) {
  for (Share* share : {&used_, &used_by_.at(object.terms.tenant.uid)})
    share->on_disk.value += object.on_disk().value;
}

void DataBook::take_off_disk(const Object& object) {
  for (Share* share : {&used_, &used_by_.at(object.terms.tenant.uid)})
    share->on_disk.value -= object.on_disk().value;
}

ByteCount DataBook::begin_spill(const DataId& data) {
  Object& object = objects_.at(data);
  object.place = Object::Place::to_disk;
  ++object.pins;
  put_on_disk(object);
  return object.terms.bytes;
}

bool DataBook::end_spill(const DataId& data, bool written) {
  const auto found = objects_.find(data);
  unpin(data);
  if (found == objects_.end()) return false;
  Object& object = found->second;
  if (!written || object.pins != 0) {
    take_off_disk(object);
    object.place = Object::Place::memory;
    return false;
  }
  object.place = Object::Place::disk;
  for (Share* share : {&used_, &used_by_.at(object.terms.tenant.uid)})
    share->bytes.value -= object.terms.bytes.value;
  return true;
}

bool DataBook::is_on_disk(const DataId& data) const {
  using enum Object::Place;
  const auto found = objects_.find(data);
  return found != objects_.end() &&
         (found->second.place == disk || found->second.place == from_disk);
}

std::optional<DataBook::Demand> DataBook::demand_of(const DataId& data) const {
  if (!is_on_disk(data)) return std::nullopt;
  const DataTerms& terms = objects_.at(data).terms;
  return Demand{terms.tenant.uid, terms.bytes};
}

Result<std::vector<DataId>> DataBook::begin_return(const DataId& data, MonotonicTime now) {
  const std::uint32_t tenant = objects_.at(data).terms.tenant.uid;
  const ByteCount bytes = objects_.at(data).terms.bytes;
  ++objects_.at(data).pins;  // it does not go for itself
  auto evicted = evict_for({tenant, bytes}, /*is_new=*/false, /*may_evict=*/true);
  Object& object = objects_.at(data);
  if (!evicted) {
    --object.pins;
    return evicted;
  }
  object.place = Object::Place::from_disk;
  object.used = now;
  for (Share* share : {&used_, &used_by_.at(tenant)}) share->bytes.value += bytes.value;
  return evicted;
}

bool DataBook::end_return(const DataId& data, bool read) {
  const auto found = objects_.find(data);
  unpin(data);
  if (found == objects_.end()) return false;
  Object& object = found->second;
  if (read) {
    take_off_disk(object);
    object.place = Object::Place::memory;
    return true;
  }
  object.place = Object::Place::disk;
  for (Share* share : {&used_, &used_by_.at(object.terms.tenant.uid)})
    share->bytes.value -= object.terms.bytes.value;
  return false;
}

}  // namespace orchid::executor
