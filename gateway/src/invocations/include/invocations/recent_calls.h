// invocations/recent_calls.h: the last synchronous calls of one HTTP thread, for whoever asks
// afterwards.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "calls/call.h"
#include "invocations/invocation_view.h"

namespace orchid::gateway {

struct RecentCall {
  std::uint64_t number = 0;  // its id
  uid_t tenant = 0;
  // By name: a version that has been deleted holds a descriptor.
  std::string function;
  std::string digest;
  std::string entry;
  Outcome outcome = Outcome::ok;
  unsigned attempt = 0;
  UnixMillis accepted = 0;
  UnixMillis deadline = 0;
  UnixMillis finished = 0;
  CallTimings timings;
  std::uint64_t output_size = 0;
  std::uint64_t log_dropped = 0;
  std::string message;
  std::string node;
  LeaseId lease;
  std::string log;
};

[[nodiscard]] InvocationView view_of(const RecentCall& call);

/// Owned by its HTTP thread. A ring: the oldest goes first, when there are too many or their logs
/// are too large together.
class RecentCalls {
 public:
  struct Options {
    std::size_t capacity = 1024;
    ByteCount log_bytes = 16_MiB;
  };
  explicit RecentCalls(Options options);
  void add(RecentCall call);
  [[nodiscard]] const RecentCall* find(uid_t tenant, std::uint64_t number) const;
  /// Newest first.
  [[nodiscard]] std::vector<InvocationView> list(uid_t tenant, std::size_t limit) const;

 private:
  void drop_oldest();
  Options options_;
  std::vector<RecentCall> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t log_bytes_ = 0;
};

}  // namespace orchid::gateway
