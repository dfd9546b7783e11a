#include "workers/worker_data.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace orchid::executor {

template <typename Predicate>
WorkerData::Entries::iterator WorkerData::find(const DataId& data, Predicate which) {
  return std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.data == data && which(entry); });
}

bool WorkerData::join(const DataId& data, const Done& done) {
  const auto entry = find(data, [](const Entry& e) { return !e.dropped; });
  if (entry == entries_.end() || entry->adopted) return false;
  if (entry->answered)
    done(entry->bytes);
  else
    entry->waiting.push_back(done);
  return true;
}

bool WorkerData::knows(const DataId& data) {
  return find(data, [](const Entry& e) { return !e.dropped; }) != entries_.end();
}

void WorkerData::add(const DataId& data, ByteCount bytes, Done done, Gone gone) {
  if (const auto adopted = find(data, [](const Entry& e) { return !e.dropped; });
      adopted != entries_.end()) {
    adopted->adopted = adopted->answered = false;
    adopted->waiting.push_back(std::move(done));
    return gone();
  }
  Entry entry{.data = data, .bytes = bytes, .gone = std::move(gone)};
  entry.waiting.push_back(std::move(done));
  entries_.push_back(std::move(entry));
}

void WorkerData::adopt(const DataId& data, ByteCount bytes, MonotonicTime now, Gone gone) {
  entries_.push_back({.data = data,
                      .bytes = bytes,
                      .answered = true,
                      .adopted = true,
                      .used = now,
                      .waiting = {},
                      .gone = std::move(gone)});
}

void WorkerData::use(const DataId& data, MonotonicTime now) {
  const auto entry = find(data, [](const Entry& e) { return !e.dropped; });
  if (entry != entries_.end()) entry->used = now;
}

void WorkerData::drop_opened_before(MonotonicTime then) {
  for (Entry& entry : entries_)
    if (entry.adopted && entry.used < then) entry.dropped = true;
}

void WorkerData::drop(const DataId& data) {
  const auto entry = find(data, [](const Entry& e) { return !e.dropped; });
  if (entry != entries_.end()) entry->dropped = true;
}

bool WorkerData::tell_dropped(const std::function<bool(const DataId&)>& tell) {
  return std::ranges::all_of(entries_, [&](Entry& entry) {
    if (entry.dropped && !entry.told) entry.told = tell(entry.data);
    return entry.dropped == entry.told;
  });
}

bool WorkerData::waits() const {
  return std::ranges::any_of(entries_, [](const Entry& e) { return !e.answered || e.dropped; });
}

bool WorkerData::take_answer(const WorkerMessage& message) {
  if (const auto* done = std::get_if<DataMapped>(&message)) return mapped(done->data);
  if (const auto* failed = std::get_if<DataNotMapped>(&message)) return not_mapped(*failed);
  if (const auto* gone = std::get_if<DataUnmapped>(&message)) return unmapped(gone->data);
  return false;
}

/// Answers come in the order of the requests.
bool WorkerData::mapped(const DataId& data) {
  const auto entry = find(data, [](const Entry& e) { return !e.answered; });
  if (entry == entries_.end()) return false;
  entry->answered = true;
  ++answers_;
  Result<ByteCount> said = entry->bytes;
  if (entry->dropped)
    said = fail(ErrorCode::data_lost, "the data was dropped while the worker mapped it");
  for (const Done& done : std::exchange(entry->waiting, {})) done(said);
  return true;
}

bool WorkerData::not_mapped(const DataNotMapped& message) {
  const auto found = find(message.data, [](const Entry& e) { return !e.answered; });
  if (found == entries_.end()) return false;
  ++answers_;
  const std::vector<Done> waiting = std::exchange(found->waiting, {});
  found->answered = true;
  Gone gone = [] {};
  if (!found->dropped) {  // else it is yet to say that it has it no more
    gone = std::move(found->gone);
    entries_.erase(found);
  }
  const Result<ByteCount> said =
      fail(ErrorCode::no_capacity, "the worker could not map the data: " + message.message);
  for (const Done& done : waiting) done(said);
  gone();
  return true;
}

bool WorkerData::unmapped(const DataId& data) {
  const auto found = find(data, [](const Entry& e) { return e.answered && e.told; });
  if (found == entries_.end()) return false;
  ++answers_;
  const Gone gone = std::move(found->gone);
  entries_.erase(found);
  gone();
  return true;
}

void WorkerData::lose() {
  for (const Entry& entry : std::exchange(entries_, {})) {
    const Result<ByteCount> said =
        fail(ErrorCode::no_capacity, "the worker ended before it mapped the data");
    for (const Done& done : entry.waiting) done(said);
    entry.gone();
  }
}

}  // namespace orchid::executor
