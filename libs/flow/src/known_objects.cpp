#include "known_objects.h"

#include <utility>

namespace orchid::flow {
namespace {

/// Of a call's objects; what more there are is left out.
constexpr std::size_t most_objects = 16;
/// Objects that were made, and that nobody has looked at.
constexpr std::size_t most_makers = 4096;

}  // namespace

void KnownObjects::made(const std::string& function, const DataId& data) {
  if (makers_.size() >= most_makers) makers_.clear();
  makers_.insert_or_assign(data, function);
}

void KnownObjects::see(ObjectSituation object) {
  if (const auto maker = makers_.extract(object.id); !maker.empty() && !object.hosts.empty())
    given_[maker.mapped()] = object.bytes;
  const DataId id = object.id;
  known_.insert_or_assign(id, Known{.object = std::move(object)});
}

void KnownObjects::may_have_moved(const std::vector<DataId>& data) {
  for (const DataId& one : data)
    if (const auto found = known_.find(one); found != known_.end())
      found->second.may_have_moved = true;
}

void KnownObjects::look_again() {
  for (auto& [id, one] : known_) one.is_old = one.may_have_moved;
}

bool KnownObjects::is_wanted(const DataId& data) const {
  const auto found = known_.find(data);
  return found == known_.end() || found->second.is_old;
}

void KnownObjects::forget(const DataId& data) {
  known_.erase(data);
  makers_.erase(data);
}

std::vector<ObjectSituation> KnownObjects::of(const std::vector<DataId>& data) const {
  std::vector<ObjectSituation> all;
  for (const DataId& one : data) {
    const auto found = known_.find(one);
    if (found == known_.end() || found->second.object.hosts.empty()) continue;
    if (all.size() == most_objects) break;
    all.push_back(found->second.object);
  }
  return all;
}

std::uint64_t KnownObjects::bytes_given_by(const std::string& function) const {
  const auto found = given_.find(function);
  return found == given_.end() ? 0 : found->second;
}

}  // namespace orchid::flow
