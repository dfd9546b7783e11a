// workers/worker_data.h: the data objects that one worker has mapped, is to map or is to unmap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/data_id.h"
#include "worker/messages.h"

namespace orchid::executor {

/// What was asked of the worker, and what it has answered; it is believed in nothing else. Pure;
/// owned by the agent's thread. Handlers may be called in each function, the last thing that it
/// does.
class WorkerData {
 public:
  /// The size of what is mapped, or why it is not.
  using Done = std::function<void(const Result<ByteCount>&)>;
  /// Once for each object, when the worker has it no more, or will never have it.
  using Gone = std::function<void()>;

  /// True: it is mapped, or about to be; `done` is told. False: it has to be added.
  [[nodiscard]] bool join(const DataId& data, const Done& done);
  /// It is mapped, or about to be, or was adopted.
  [[nodiscard]] bool knows(const DataId& data);
  /// The worker has been told to map it. What it has adopted it may not have managed to map: then
  /// the two are one from now on, and `gone` is told at once.
  void add(const DataId& data, ByteCount bytes, Done done, Gone gone);
  /// The worker maps it by itself, within a call. Nothing is asked of it.
  void adopt(const DataId& data, ByteCount bytes, MonotonicTime now, Gone gone);
  /// A call has asked for what the worker was given before.
  void use(const DataId& data, MonotonicTime now);
  /// What calls have opened, and none has since then, is to be unmapped. A call that still has it
  /// keeps it: the worker unmaps between two calls.
  void drop_opened_before(MonotonicTime then);
  /// The worker is to be told to unmap it, if it has it.
  void drop(const DataId& data);
  /// Of each object that it is yet to be told of. `tell`: false if it does not listen now. False:
  /// some are left; nothing else may be asked of the worker before they are told, since it takes an
  /// object that it maps again for the dropped one.
  bool tell_dropped(const std::function<bool(const DataId&)>& tell);
  /// False: it is no answer to something that was asked for.
  [[nodiscard]] bool take_answer(const WorkerMessage& message);
  /// The process has ended.
  void lose();

  /// It has something to map or to unmap, which takes it time.
  [[nodiscard]] bool waits() const;
  [[nodiscard]] std::uint64_t answers() const { return answers_; }

 private:
  struct Entry {
    DataId data;
    ByteCount bytes;
    bool answered = false;  // it is mapped, or cannot be
    bool adopted = false;   // the worker has never said whether it is
    MonotonicTime used;     // of an adopted one: when a call has last asked for it
    bool dropped = false;   // it is to unmap it
    bool told = false;      // of that; it says when it has
    std::vector<Done> waiting;
    Gone gone;
  };
  using Entries = std::vector<Entry>;
  template <typename Predicate>
  [[nodiscard]] Entries::iterator find(const DataId& data, Predicate which);
  [[nodiscard]] bool mapped(const DataId& data);
  [[nodiscard]] bool not_mapped(const DataNotMapped& message);
  [[nodiscard]] bool unmapped(const DataId& data);

  std::uint64_t answers_ = 0;
  Entries entries_;  // at most one of each object that was not dropped, in the order of requests
};

}  // namespace orchid::executor
