// lane_client/attached_data.h: the data objects that one worker has mapped, as its client knows it
// (docs/PROTOCOL.md §3, "Data").
//
// A client tells the executor `ask(…)` of a call's objects as LaneAttach, sends the call when it
// `has_all` of them, and begins anew when the worker answers `need_data`.
#pragma once
#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "foundation/clock.h"
#include "protocol/data_id.h"

namespace orchid::lane_client {

/// Pure; owned by who drives the lane.
class AttachedData {
 public:
  /// Of these those that the executor is to be told to attach; from now on they are asked for.
  [[nodiscard]] std::vector<DataId> ask(std::span<const DataId> data, MonotonicTime now);
  /// The worker has them mapped.
  [[nodiscard]] bool has_all(std::span<const DataId> data) const;

  /// The worker has it mapped, or it was asked for.
  [[nodiscard]] bool knows(const DataId& data) const { return all_.contains(data); }

  /// Some were asked for, and the executor has not answered yet. Right whatever it says: answers
  /// to what was not asked for, or was answered before, do not count.
  [[nodiscard]] bool is_waiting() const { return waiting_ != 0; }

  /// The executor said so. False: it was not asked, or has said so before.
  bool attached(const DataId& data);
  /// It did not attach this one, which is unknown again. False: no answer was awaited. One that
  /// was mapped is unknown again then, too: a replaced worker may be answered for twice.
  bool not_attached(const DataId& data);
  /// The worker answered `need_data` to a call with these: some are not mapped any more.
  void forget(std::span<const DataId> data);
  /// Those that no call was to be given since `before`. They are forgotten: the executor is to be
  /// told with LaneDetach, so that it may evict them.
  [[nodiscard]] std::vector<DataId> take_unused(MonotonicTime before);
  /// There is another worker.
  void clear();

 private:
  struct Entry {
    bool is_mapped = false;  // else it was asked for
    MonotonicTime used;
  };
  std::unordered_map<DataId, Entry> all_;
  std::size_t waiting_ = 0;  // of them, those that are not mapped
};

}  // namespace orchid::lane_client
