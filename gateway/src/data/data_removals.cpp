#include "data/data_removals.h"

#include <algorithm>
#include <utility>

namespace orchid::gateway {

void DataRemovals::await(Removal removal) {
  waiting_.push_back(std::move(removal));
  take_ended();
}

void DataRemovals::dropped(const ExecutorId& executor, DataId data) {
  for (Removal& removal : waiting_) {
    const auto file = removal.files.find(data);
    if (file == removal.files.end()) continue;
    file->second.erase(executor);
    if (file->second.empty()) removal.files.erase(file);
  }
  take_ended();
}

std::vector<DataId> DataRemovals::executor_joined(
    const ExecutorId& executor, std::span<const DataHeld> held,
    const std::function<bool(const ExecutorId&)>& is_connected) {
  const auto is_held = [&](DataId data) {
    return std::ranges::find(held, data, &DataHeld::data) != held.end();
  };
  std::vector<DataId> again;
  for (Removal& removal : waiting_)
    for (auto& [data, told] : removal.files) {
      if (is_held(data) && !told.contains(executor)) {
        // Copies have no files: so this is the one file, and who had it has ended.
        std::erase_if(told, [&](const ExecutorId& other) { return !is_connected(other); });
        told.insert(executor);
      } else if (told.contains(executor)) {
        again.push_back(data);  // what it has said may have been lost with the old stream
      }
    }
  return again;
}

void DataRemovals::give_up_late(MonotonicTime now) {
  std::vector<Removal> late;
  std::erase_if(waiting_, [&](Removal& removal) {
    if (now < removal.due) return false;
    late.push_back(std::move(removal));
    return true;
  });
  for (const Removal& removal : late)
    removal.done(fail(ErrorCode::unreachable,
                      "'" + removal.label +
                          "' is removed, but its executor has not said that its file is gone, and "
                          "is told to remove it when it answers: if the gateway ends before that, "
                          "it comes back; look for it then ('orchid data list')"));
}

/// Who hears of it may remove something more.
void DataRemovals::take_ended() {
  std::vector<Removal> ended;
  std::erase_if(waiting_, [&](Removal& removal) {
    if (!removal.files.empty()) return false;
    ended.push_back(std::move(removal));
    return true;
  });
  for (const Removal& removal : ended) removal.done({});
}

}  // namespace orchid::gateway
