#include "data/data_filing.h"

#include <algorithm>
#include <utility>

#include "data/data_times.h"
#include "hosts/capacity.h"
#include "protocol/spill_time.h"

namespace orchid::gateway {
namespace {

bool keeps_files(const Executor* executor, const LeaseTenant& tenant) {
  return executor != nullptr && executor->state == ExecutorState::connected &&
         executor->keeps_data && executor->data_memory && Capacity::serves(*executor, tenant);
}

const Failure gone{ErrorCode::data_lost, "the data has gone before its file was written"};

}  // namespace

DataFiling::DataFiling(Parts parts, std::chrono::milliseconds answer_within)
    : parts_(std::move(parts)), answer_within_(answer_within) {
  const auto listen = [this](const ExecutorId& executor, const auto& message) {
    hear(executor, message);
  };
  parts_.messages.on<DataFiled>(listen);
  parts_.messages.on<DataNotFiled>(listen);
}

void DataFiling::ask(const DataObject& object, std::optional<std::chrono::milliseconds> expires_in,
                     Done done) {
  const auto [entry, is_first] = asked_.try_emplace(object.id);
  Asked& asked = entry->second;
  asked.waiting.push_back(std::move(done));
  asked.expires_in = std::max(asked.expires_in, expires_in);
  if (is_first) ask_next(object.id);
}

const Executor* DataFiling::keeper_among_holders(const DataObject& object,
                                                 const Asked& asked) const {
  for (const DataHolder& holder : object.holders) {
    const Executor* executor = parts_.broker.hosts().find(holder.executor);
    if (keeps_files(executor, object.tenant) && !asked.asked.contains(holder.executor))
      return executor;
  }
  return nullptr;
}

/// Where it is to be, and is not. One that has been tried has its reason kept.
bool DataFiling::copy_to_keeper(const DataObject& object, Asked& asked) {
  for (const auto& [id, executor] : parts_.broker.hosts().executors()) {
    if (!keeps_files(&executor, object.tenant) || !asked.asked.insert(id).second) continue;
    if (!parts_.catalogue.is_arriving(object.id, id))
      if (auto begun = parts_.copies.copy_to_executor(object, executor); !begun) {
        asked.why = std::move(begun.error());
        continue;
      }
    asked.of = id;
    asked.is_copied = true;
    asked.due = parts_.loop.now() + answer_within_ + time_to_write(object.bytes);
    return true;
  }
  return false;
}

void DataFiling::send_to(const DataObject& object, Asked& asked) {
  asked.is_copied = false;
  asked.due =
      parts_.loop.now() + answer_within_ + time_to_keep(object.bytes) + time_to_spill(object.bytes);
  parts_.send(*asked.of, FileData{.data = object.id, .expires_in = asked.expires_in});
}

/// Whoever waits may ask for something else at once.
void DataFiling::ask_next(DataId id) {
  Asked& asked = asked_.at(id);
  asked.of.reset();
  const DataObject* object = parts_.catalogue.sealed(id);
  if (object == nullptr) return finish(id, fail(gone));
  if (const Executor* keeper = keeper_among_holders(*object, asked)) {
    asked.asked.insert(keeper->id);
    asked.of = keeper->id;
    return send_to(*object, asked);
  }
  if (copy_to_keeper(*object, asked)) return;
  finish(id, fail(asked.why.value_or(
                 Failure{ErrorCode::unsupported,
                         "no executor keeps data as files for you: start one with --data-durable "
                         "DIRECTORY ('orchid up --data-durable', for one's own)"})));
}

void DataFiling::finish(DataId id, const Result<DataObject>& result) {
  const Asked over = std::move(asked_.extract(id).mapped());
  for (const Done& done : over.waiting) done(result);
}

void DataFiling::hear(const ExecutorId& executor, const DataFiled& message) {
  if (!parts_.catalogue.has(executor, message.data)) return;
  const auto asked = asked_.find(message.data);
  const auto life = asked == asked_.end() ? std::nullopt : asked->second.expires_in;
  const DataObject* object = parts_.catalogue.keep_file(message.data, life, parts_.loop.now());
  if (asked == asked_.end()) return;
  finish(message.data, object == nullptr ? Result<DataObject>(fail(gone)) : *object);
}

void DataFiling::hear(const ExecutorId& executor, const DataNotFiled& message) {
  const auto asked = asked_.find(message.data);
  if (asked == asked_.end() || asked->second.of != executor) return;
  asked->second.why = {message.code, message.message};
  ask_next(message.data);
}

bool DataFiling::has_failed(DataId id, Asked& asked, MonotonicTime now) {
  const DataObject* object = parts_.catalogue.sealed(id);
  const Executor* executor = parts_.broker.hosts().find(*asked.of);
  const bool arrives = parts_.catalogue.is_arriving(id, *asked.of);
  const bool is_there = object != nullptr && executor != nullptr &&
                        executor->state == ExecutorState::connected &&
                        (parts_.catalogue.has(*asked.of, id) || arrives);
  if (!is_there || asked.due <= now) return true;
  if (asked.is_copied && !arrives) send_to(*object, asked);
  return false;
}

void DataFiling::tick(MonotonicTime now) {
  std::vector<DataId> over;
  for (auto& [id, asked] : asked_) {
    if (!has_failed(id, asked, now)) continue;
    asked.why = {ErrorCode::unreachable,
                 "the executor that was to keep the data as a file has not done so in time: try "
                 "again"};
    over.push_back(id);
  }
  for (const DataId& id : over)
    if (asked_.contains(id)) ask_next(id);
}

}  // namespace orchid::gateway
