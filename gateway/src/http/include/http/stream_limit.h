// http/stream_limit.h: how many event streams each tenant may have open at once.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "foundation/result.h"

namespace orchid::gateway {

/// Its functions may be called on any thread; outlives the streams.
class StreamLimit {
 public:
  /// The right to have a stream open; given back at the end of its life.
  using Place = std::shared_ptr<const void>;
  explicit StreamLimit(std::size_t per_tenant) : per_tenant_(per_tenant) {}

  /// Errors: `quota`.
  [[nodiscard]] Result<Place> enter(uid_t tenant);

 private:
  void leave(uid_t tenant);

  std::size_t per_tenant_;
  std::mutex mutex_;
  std::unordered_map<uid_t, std::size_t> open_;  // guarded by mutex_; those that have some
};

}  // namespace orchid::gateway
