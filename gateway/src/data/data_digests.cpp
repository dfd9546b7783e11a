#include "data/data_digests.h"

#include <algorithm>
#include <utility>

#include "data/data_times.h"

namespace orchid::gateway {

DataDigests::DataDigests(Parts parts, std::chrono::milliseconds answer_within)
    : parts_(std::move(parts)), answer_within_(answer_within) {
  const auto listen = [this](const ExecutorId& executor, const auto& message) {
    hear(executor, message);
  };
  parts_.messages.on<DataDigest>(listen);
  parts_.messages.on<DataNotDigested>(listen);
}

void DataDigests::ask(const DataObject& object, Done done) {
  if (!object.digest.empty()) return done(object);
  const auto [entry, is_first] = asked_.try_emplace(object.id);
  entry->second.waiting.push_back(std::move(done));
  if (is_first) ask_next(object.id);
}

/// Whoever waits may ask for something else at once.
void DataDigests::ask_next(DataId id) {
  Asked& asked = asked_.at(id);
  asked.of.reset();
  const DataObject* object = parts_.catalogue.sealed(id);
  if (object != nullptr)
    for (const DataHolder& holder : object->holders) {
      const Executor* executor = parts_.broker.hosts().find(holder.executor);
      const bool may = executor != nullptr && executor->state == ExecutorState::connected &&
                       executor->digests_data && !asked.asked.contains(holder.executor);
      if (!may) continue;
      asked.asked.insert(holder.executor);
      asked.of = holder.executor;
      asked.due = parts_.loop.now() + answer_within_ + time_to_digest(object->bytes);
      return parts_.send(holder.executor, DigestData{id});
    }
  const Asked over = std::move(asked_.extract(id).mapped());
  const Failure why = object != nullptr
                          ? over.why
                          : Failure{ErrorCode::data_lost, "the data has gone while it was read"};
  for (const Done& done : over.waiting) done(fail(why));
}

void DataDigests::hear(const ExecutorId& executor, const DataDigest& message) {
  if (!parts_.catalogue.has(executor, message.data)) return;
  const DataObject* object = parts_.catalogue.keep_digest(message.data, message.digest);
  auto asked = asked_.extract(message.data);
  if (asked.empty()) return;
  if (object == nullptr) {
    for (const Done& done : asked.mapped().waiting)
      done(fail(ErrorCode::data_lost, "the data has gone while it was read"));
    return;
  }
  const DataObject found = *object;
  for (const Done& done : asked.mapped().waiting) done(found);
}

void DataDigests::hear(const ExecutorId& executor, const DataNotDigested& message) {
  const auto asked = asked_.find(message.data);
  if (asked == asked_.end() || asked->second.of != executor) return;
  asked->second.why = {message.code, message.message};
  ask_next(message.data);
}

void DataDigests::tick(MonotonicTime now) {
  std::vector<DataId> over;
  for (auto& [id, asked] : asked_) {
    const Executor* executor = parts_.broker.hosts().find(*asked.of);
    const bool is_there = executor != nullptr && executor->state == ExecutorState::connected &&
                          parts_.catalogue.has(executor->id, id);
    if (is_there && asked.due > now) continue;
    asked.why = {ErrorCode::unreachable,
                 "the executor that has the data has not made its digest in time: try again"};
    over.push_back(id);
  }
  for (const DataId& id : over)
    if (asked_.contains(id)) ask_next(id);
}

}  // namespace orchid::gateway
