// calls/function_needs.h: what the workers of a function have, where one core is not enough.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "placement/worker_request.h"

namespace orchid::gateway {

/// Immutable. Equal alternatives are one object for as long as anybody keeps it.
struct WorkerNeeds {
  std::uint64_t number = 0;  // its name: 1 or more, never used again
  std::vector<placement::WorkerShape> alternatives;
};

/// Shared by all versions of a function and all threads; its functions may be called on any.
class FunctionNeeds {
 public:
  /// Null: one core, as most functions have; to know that takes no lock.
  [[nodiscard]] std::shared_ptr<const WorkerNeeds> get() const;
  /// Calls that wait already keep what they wait for.
  void set(std::shared_ptr<const WorkerNeeds> needs);

 private:
  std::atomic<bool> some_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const WorkerNeeds> needs_;  // guarded; shared with the dispatchers that serve it
};

/// Gives equal needs one number. Owned by the control thread.
class NeedsBook {
 public:
  /// Null: they are one core and what the site gives.
  [[nodiscard]] std::shared_ptr<const WorkerNeeds> of(
      std::vector<placement::WorkerShape> alternatives);

 private:
  std::map<std::string, std::weak_ptr<const WorkerNeeds>> known_;  // by their text
  std::uint64_t next_ = 1;
};

/// As placement/shape_text.h writes them; empty: none.
[[nodiscard]] std::string to_string(const std::shared_ptr<const WorkerNeeds>& needs);

}  // namespace orchid::gateway
