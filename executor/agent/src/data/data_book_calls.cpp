// What calls make: seen by nobody until the gateway has given it its version.
#include <algorithm>
#include <utility>

#include "data/data_book.h"

namespace orchid::executor {
namespace {

/// In place of the worker whose call has made a room.
constexpr std::uint64_t a_lease = ~std::uint64_t{0};

MonotonicTime end_of(const std::optional<std::chrono::milliseconds>& life, MonotonicTime now) {
  const auto most =
      std::chrono::duration_cast<std::chrono::milliseconds>(MonotonicTime::max() - now);
  return !life || *life >= most ? MonotonicTime::max() : now + *life;
}

}  // namespace

Result<std::vector<DataId>> DataBook::make_in_call(const MakeData& request, std::uint64_t worker,
                                                   MonotonicTime now) {
  auto evicted = make(request, now);
  if (!evicted) return evicted;
  Object& object = objects_.at(request.data);
  object.made_by = worker;
  made_[worker].insert(request.data);
  object.write_by = MonotonicTime::max();  // the call's end ends it
  return evicted;
}

void DataBook::keep_for_lease(const DataId& data) {
  Object& object = objects_.at(data);
  object.made_by = a_lease;
  made_[a_lease].insert(data);
  object.write_by = MonotonicTime::max();  // the lease's end ends it
}

Result<void> DataBook::check_seal_in_call(const DataId& data, std::uint64_t worker,
                                          ByteCount used) const {
  const auto found = objects_.find(data);
  if (found == objects_.end() || found->second.made_by != worker)
    return fail(ErrorCode::not_found, "this call has no such room");
  const Object& object = found->second;
  if (object.sealed && object.terms.bytes != used)
    return fail(ErrorCode::conflict, "the data is sealed already");
  if (used > object.terms.bytes)
    return fail(ErrorCode::too_large, "the room has " + to_string(object.terms.bytes) + ", and " +
                                          to_string(used) + " are said to be used");
  return {};
}

void DataBook::seal_in_call(const DataId& data, ByteCount used, std::string name,
                            MonotonicTime now) {
  const auto found = objects_.find(data);
  if (found == objects_.end() || found->second.sealed) return;
  Object& object = found->second;
  const std::uint64_t unused = object.terms.bytes.value - used.value;
  for (Share* share : {&used_, &used_by_.at(object.terms.tenant.uid)}) share->bytes.value -= unused;
  object.terms.bytes = used;
  object.terms.name = std::move(name);
  object.sealed = true;
  object.sealed_as = ++seals_in_calls_;
  object.created = now;
  object.used = now;
}

std::vector<DataBook::MadeInCall> DataBook::made_by(std::uint64_t worker) const {
  std::vector<MadeInCall> made;
  const auto own = made_.find(worker);
  if (own == made_.end()) return made;
  std::vector<std::pair<std::uint64_t, DataId>> order;
  for (const DataId& data : own->second) order.emplace_back(objects_.at(data).sealed_as, data);
  std::ranges::sort(order);
  for (const auto& [sealed_as, data] : order) {
    const Object& object = objects_.at(data);
    made.push_back({.data = data, .terms = object.terms, .sealed = object.sealed});
  }
  return made;
}

bool DataBook::is_sealed_by(const DataId& data, std::uint64_t worker) const {
  const auto found = objects_.find(data);
  return found != objects_.end() && found->second.sealed && found->second.made_by == worker;
}

void DataBook::forget_maker(const DataId& data, Object& object) {
  if (!object.made_by) return;
  const auto own = made_.find(*std::exchange(object.made_by, std::nullopt));
  own->second.erase(data);
  if (own->second.empty()) made_.erase(own);
}

bool DataBook::publish(const DataAccepted::Object& published,
                       std::optional<std::uint32_t> holder_uid, MonotonicTime now) {
  const auto found = objects_.find(published.data);
  if (found == objects_.end()) return false;
  Object& object = found->second;
  forget_maker(published.data, object);
  object.terms.version = published.version;
  object.order = published.order;
  object.terms.expires_in = published.expires_in;
  object.terms.holder_uid = holder_uid;
  object.expires = end_of(published.expires_in, now);
  object.used = now;
  return true;
}

}  // namespace orchid::executor
