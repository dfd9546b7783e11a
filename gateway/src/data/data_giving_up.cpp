// Rooms that nobody seals, and those whose executor does not do it.
#include <functional>
#include <utility>
#include <vector>

#include "data/data_service.h"
#include "data/data_times.h"

namespace orchid::gateway {
namespace {

bool have_one_disk(const DataObject& one, const DataObject& other) {
  return one.durable && other.durable &&
         one.holders.front().executor == other.holders.front().executor;
}

}  // namespace

/// Rooms whose executor does not answer, or has lost them.
void DataService::give_up_late(MonotonicTime now) {
  std::vector<DataId> unasked;
  for (const auto& [id, making] : making_)
    if (now >= making.due || catalogue_.room(id) == nullptr) unasked.push_back(id);
  for (const DataId& id : unasked) {
    Making& making = making_.at(id);
    making.refused = Failure{ErrorCode::unreachable, "the executor does not answer: try again"};
    if (const DataObject* object = catalogue_.room(id))
      parts_.send(object->holders.front().executor, DropData{id});
    ask_next(id);
  }
  std::vector<std::function<void()>> unwritten;
  std::erase_if(writing_, [&](auto& entry) {
    if (catalogue_.room(entry.first) != nullptr) return false;
    unwritten.push_back(std::move(entry.second));
    return true;
  });
  for (const auto& gone : unwritten) gone();
  give_up_seals(now);
}

/// The executor has dropped it: what was to be kept could not be written to its file.
void DataService::refuse_seal(DataId id, Failure why) {
  const auto done = std::move(sealing_.at(id).done);
  abandon(id);
  done(fail(std::move(why)));
  ask_to_seal_waiting();
}

/// Durable ones of a holder have one disk, at which others may come first, also later ones.
MonotonicTime DataService::time_of_seal(const DataObject& object) const {
  const MonotonicTime now = parts_.loop.now() + options_.answer_within;
  if (!object.durable) return now + time_to_seal(object.bytes);
  ByteCount before;
  for (const auto& [id, sealing] : sealing_)
    if (const DataObject* other = catalogue_.room(id);
        other != nullptr && id != object.id && have_one_disk(*other, object))
      before.value += other->bytes.value;
  return now + time_to_keep(object.bytes) + time_on_disk(before);
}

void DataService::put_off_seals(const DataObject& by) {
  for (auto& [id, sealing] : sealing_)
    if (const DataObject* other = catalogue_.room(id);
        other != nullptr && id != by.id && have_one_disk(*other, by))
      sealing.due += time_on_disk(by.bytes);
}

/// Whether the executor has done it is not known: it is told to drop the object, which it does,
/// unless this gateway ends before it is told.
void DataService::give_up_seals(MonotonicTime now) {
  std::vector<DataId> unsealed;
  for (const auto& [id, sealing] : sealing_)
    if (now >= sealing.due || catalogue_.room(id) == nullptr) unsealed.push_back(id);
  for (const DataId& id : unsealed) {
    const auto done = std::move(sealing_.at(id).done);
    const bool is_open = sealing_.at(id).is_asked && catalogue_.room(id) != nullptr;
    abandon(id);
    sealing_.erase(id);
    done(fail(ErrorCode::unreachable,
              is_open ? "the executor does not answer, and was told to keep nothing of it: look "
                        "whether it is there, then send it again"
                      : "its room was given up before it was sealed: send it again"));
  }
  if (!unsealed.empty()) ask_to_seal_waiting();
}

}  // namespace orchid::gateway
