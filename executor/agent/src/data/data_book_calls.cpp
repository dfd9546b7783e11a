// What calls make: seen by nobody until the gateway has given it its version.
#include <utility>

#include "data/data_book.h"

namespace orchid::executor {
namespace {

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
  object.write_by = MonotonicTime::max();  // the call's end ends it
  return evicted;
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
  object.created = now;
  object.used = now;
}

std::vector<DataBook::MadeInCall> DataBook::made_by(std::uint64_t worker) const {
  std::vector<MadeInCall> made;
  for (const auto& [data, object] : objects_)
    if (object.made_by == worker)
      made.push_back({.data = data, .terms = object.terms, .sealed = object.sealed});
  return made;
}

bool DataBook::publish(const DataAccepted::Object& published,
                       std::optional<std::uint32_t> holder_uid, MonotonicTime now) {
  const auto found = objects_.find(published.data);
  if (found == objects_.end()) return false;
  Object& object = found->second;
  object.made_by.reset();
  object.terms.version = published.version;
  object.order = published.order;
  object.terms.expires_in = published.expires_in;
  object.terms.holder_uid = holder_uid;
  object.expires = end_of(published.expires_in, now);
  object.used = now;
  return true;
}

}  // namespace orchid::executor
