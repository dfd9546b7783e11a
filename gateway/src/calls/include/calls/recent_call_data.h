// calls/recent_call_data.h: data of calls that was looked up a moment ago.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "calls/call_data.h"
#include "placement/worker_request.h"

namespace orchid::gateway {

/// What calls of this thread were given lately: the next one that names the same need not ask the
/// control thread, which takes longer than a short call. It keeps nothing alive: whoever has looked
/// the data up does, for a moment (DataCopyService). Belongs to its thread.
class RecentCallData {
 public:
  /// `changes`: of the finder; outlives it. Null: nothing is remembered.
  explicit RecentCallData(const std::atomic<std::uint64_t>* changes) : changes_(changes) {}
  /// Null: it has to be looked up.
  [[nodiscard]] std::shared_ptr<const CallData> find(uid_t tenant, std::string_view names,
                                                     const placement::WorkerRequest& worker);
  /// What was found; it waits for nothing.
  void remember(uid_t tenant, std::string_view names, const placement::WorkerRequest& worker,
                const std::shared_ptr<const CallData>& data);

 private:
  static constexpr std::size_t most = 16;
  struct Entry {
    uid_t tenant;
    std::string names;
    placement::WorkerRequest worker;
    std::weak_ptr<const CallData> data;
  };
  const std::atomic<std::uint64_t>* changes_;
  std::deque<Entry> entries_;  // the newest in front
};

}  // namespace orchid::gateway
