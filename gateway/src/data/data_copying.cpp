// Copies on their way from one executor to another, as the books have them, and what is to be
// looked at for copies.
#include <algorithm>

#include "data/data_catalogue.h"

namespace orchid::gateway {

Result<void> DataCatalogue::begin_copy(DataId id, DataHolder holder) {
  Kept* found = kept(id);
  if (found == nullptr || found->object.state != DataState::sealed)
    return fail(ErrorCode::not_found, "the object to copy is not there any more");
  const auto books = at_.find(holder.executor);
  if (books != at_.end() && books->second.doomed.contains(id))
    return fail(ErrorCode::conflict, "the host " + holder.host + " has yet to drop its last copy");
  if (has(holder.executor, id))
    return fail(ErrorCode::conflict, "'" + label_of(found->object) + "' is on the host " +
                                         holder.host + ", or on its way there, already");
  at_[holder.executor].add(found->object);
  found->object.arriving.push_back(std::move(holder));
  return {};
}

void DataCatalogue::count_on_copy(DataId id, const ExecutorId& executor) {
  if (is_arriving(id, executor)) kept(id)->counted_on.insert(executor);
}

void DataCatalogue::do_not_count_on_copy(DataId id, const ExecutorId& executor) {
  if (!is_arriving(id, executor)) return;
  kept(id)->counted_on.erase(executor);
  lose_if_nowhere(id);
}

bool DataCatalogue::finish_copy(DataId id, const ExecutorId& executor) {
  if (!is_arriving(id, executor)) return false;
  Kept& found = *kept(id);
  found.counted_on.erase(executor);
  DataObject& object = found.object;
  const auto copy = std::ranges::find(object.arriving, executor, &DataHolder::executor);
  object.holders.push_back(std::move(*copy));
  object.arriving.erase(copy);
  holders_changed();
  return true;
}

DataDrops DataCatalogue::give_up_copy(DataId id, const ExecutorId& executor) {
  if (!is_arriving(id, executor)) return {};
  Kept* found = kept(id);
  let_go(found->object, executor);
  doom(executor, id, found->object.tenant.uid);
  lose_if_nowhere(id);
  return {{executor, id}};
}

bool DataCatalogue::want_copies(DataId id, std::uint32_t copies) {
  Kept* found = kept(id);
  if (found == nullptr || found->object.state != DataState::sealed) return false;
  found->object.copies = copies;
  found->is_wish_said = true;
  return true;
}

std::vector<const DataObject*> DataCatalogue::sealed_after(DataId id, std::size_t most) const {
  std::vector<const DataObject*> found;
  auto next = objects_.upper_bound(id);
  for (std::size_t seen = 0; seen < objects_.size() && found.size() < most; ++seen, ++next) {
    if (next == objects_.end()) next = objects_.begin();
    if (next->second.object.state == DataState::sealed) found.push_back(&next->second.object);
  }
  return found;
}

std::vector<const DataObject*> DataCatalogue::sealed_at(const ExecutorId& executor) const {
  std::vector<const DataObject*> found;
  const auto books = at_.find(executor);
  if (books == at_.end()) return found;
  for (const DataId& id : books->second.data)
    if (const DataObject* object = sealed(id)) found.push_back(object);
  return found;
}

}  // namespace orchid::gateway
