// What is kept as a file beyond this process.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "data/data_book.h"

namespace orchid::executor {

Result<void> DataBook::check_durable(const Demand& demand) const {
  if (options_.durable.value == 0)
    return fail(ErrorCode::unsupported,
                "this executor keeps no data as files: start it with --data-durable DIRECTORY");
  const auto is_beyond = [&](ByteCount used, ByteCount most) {
    return demand.bytes.value > most.value || used.value > most.value - demand.bytes.value;
  };
  const ByteCount part = part_of_tenant(options_.durable);
  const ByteCount own = share_of(demand.tenant).durable;
  if (is_beyond(own, part))
    return fail(ErrorCode::quota, "one tenant may keep " + to_string(part) +
                                      " of data as files on this executor, and has " +
                                      to_string(own) + "; delete durable data that is not needed");
  if (is_beyond(used_.durable, options_.durable))
    return fail(ErrorCode::disk_full,
                "this executor may keep " + to_string(options_.durable) +
                    " of data as files, and has " + to_string(used_.durable) +
                    "; delete durable data that is not needed, or start it with a larger "
                    "--data-durable-size");
  return {};
}

void DataBook::charge_file(Object& object) {
  object.is_durable = true;
  for (Share* share : {&used_, &used_by_.at(object.terms.tenant.uid)})
    share->durable.value += object.terms.bytes.value;
}

Result<bool> DataBook::want_file(const DataId& data,
                                 std::optional<std::chrono::milliseconds> expires_in,
                                 MonotonicTime now) {
  const auto found = objects_.find(data);
  if (found == objects_.end() || !found->second.sealed || found->second.made_by)
    return fail(ErrorCode::data_lost, "this executor does not have the data");
  Object& object = found->second;
  const bool is_new = !object.is_durable;
  if (is_new) {
    const Demand demand{object.terms.tenant.uid, object.terms.bytes};
    if (auto may = check_durable(demand); !may) return fail(std::move(may.error()));
    charge_file(object);
    object.terms.durable = true;
  }
  const MonotonicTime::duration left = MonotonicTime::max() - now;
  if (expires_in && *expires_in < left)
    object.expires = std::max(object.expires, now + *expires_in);
  return is_new;
}

/// Its bytes are where they were.
void DataBook::has_no_file(const DataId& data) {
  const auto found = objects_.find(data);
  if (found == objects_.end() || !found->second.is_durable || found->second.has_file) return;
  Object& object = found->second;
  object.is_durable = object.terms.durable = false;
  for (Share* share : {&used_, &used_by_.at(object.terms.tenant.uid)})
    share->durable.value -= object.terms.bytes.value;
}

/// What is there is there, also when the limit was larger once.
Result<void> DataBook::adopt(const DataHeld& held, MonotonicTime now) {
  if (objects_.contains(held.data) || left_.contains(held.data))
    return fail(ErrorCode::conflict, "there is another object with this id");
  const std::uint32_t tenant = held.terms.tenant.uid;
  if (held.terms.bytes > options_.budget)
    return fail(ErrorCode::no_data_memory,
                "it has " + to_string(held.terms.bytes) + ", and there are " +
                    to_string(options_.budget) +
                    " for data: start the executor with a larger --data-memory");
  if (used_.objects >= options_.most_objects)
    return fail(ErrorCode::no_data_memory,
                "an executor has at most " + std::to_string(options_.most_objects) +
                    " data objects: move files to the directory of another one");
  charge(tenant, {});
  Object object{
      .terms = held.terms,
      .sealed = true,
      .writer_came = true,
      .is_written = true,
      .write_by = MonotonicTime::max(),
      .created = now - held.created_ago,
      .order = held.order,
      .expires = held.terms.expires_in ? now + *held.terms.expires_in : MonotonicTime::max(),
      .used = now,
      .digest = held.digest};
  object.place = Object::Place::disk;
  object.has_file = true;
  charge_file(objects_.emplace(held.data, std::move(object)).first->second);
  return {};
}

DataBook::Unwritten DataBook::unwritten(std::uint32_t tenant, const DataId& besides) const {
  Unwritten own;
  for (const auto& [data, object] : objects_) {
    const bool counts = object.is_durable && !object.has_file && data != besides &&
                        object.terms.tenant.uid == tenant;
    if (!counts) continue;
    ++own.objects;
    own.bytes.value += object.terms.bytes.value;
  }
  return own;
}

bool DataBook::lacks_file(const DataId& data) const {
  const auto found = objects_.find(data);
  return found != objects_.end() && found->second.is_durable && !found->second.has_file;
}

void DataBook::keep_file(const DataId& data) {
  if (const auto found = objects_.find(data); found != objects_.end())
    found->second.has_file = true;
}

bool DataBook::has_file(const DataId& data) const {
  const auto found = objects_.find(data);
  return found != objects_.end() && found->second.has_file;
}

/// Its memory does not wait for its file.
void DataBook::end_left(std::unordered_map<DataId, Left>::iterator left) {
  Left& one = left->second;
  if (one.pins > 0) return;
  give_back(one.tenant, std::exchange(one.bytes, {}));
  if (one.file) return;
  give_place_back(one.tenant);
  left_.erase(left);
}

void DataBook::file_gone(const DataId& data) {
  const auto left = left_.find(data);
  if (left == left_.end() || !left->second.file) return;
  for (Share* share : {&used_, &used_by_.at(left->second.tenant)})
    share->durable.value -= left->second.file->value;
  left->second.file.reset();
  end_left(left);
}

}  // namespace orchid::executor
