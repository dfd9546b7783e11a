// data/data_removals.h: removals of data that is kept as files, each answered when its files are
// gone: an executor that ends before would bring it back. Plain data: no socket, no thread; time is
// passed in.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "hosts/host_book.h"
#include "protocol/data_messages.h"

namespace orchid::gateway {

/// Shorter than a client waits for an answer, which is to say what is not known.
constexpr std::chrono::seconds time_to_remove_files{20};

/// Owned by the control thread.
class DataRemovals {
 public:
  /// Errors: `unreachable`: not all executors have said that the files are gone.
  using Done = std::function<void(Result<void>)>;
  struct Removal {
    std::string label;                               // for people
    std::map<DataId, std::set<ExecutorId>> files{};  // who was told to drop what
    MonotonicTime due{};
    Done done{};
  };
  /// At once when there are no files.
  void await(Removal removal);
  /// That executor has it no more, and no file of it.
  void dropped(const ExecutorId& executor, DataId data);
  /// With a fresh stream, and these objects. One that was not told anything may have found the file
  /// of one that `is_connected` no more. What it is to be told to drop once more.
  [[nodiscard]] std::vector<DataId> executor_joined(
      const ExecutorId& executor, std::span<const DataHeld> held,
      const std::function<bool(const ExecutorId&)>& is_connected);
  void give_up_late(MonotonicTime now);

 private:
  void take_ended();

  std::vector<Removal> waiting_;
};

}  // namespace orchid::gateway
