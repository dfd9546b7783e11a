// leases/call_traces.h: calls of leases that their clients have traced, and told of: the gateway
// sees no such call itself. Plain data, kept for a while also when the lease has ended.
#pragma once
#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "protocol/lease_id.h"

namespace orchid::gateway {

struct TracedStep {
  std::uint32_t member = 0;
  std::string entry;
  std::chrono::nanoseconds run{0};
};
/// As its client says; nobody has looked whether that is so.
struct TracedCall {
  std::string function;
  std::uint32_t member = 0;  // where it began
  std::string outcome;
  std::string message;
  std::chrono::nanoseconds took{0};
  std::vector<TracedStep> path;
  std::string log;
  MonotonicTime told{};
};

/// Owned by the control thread.
class CallTraces {
 public:
  static constexpr std::size_t most_leases = 64;
  static constexpr std::size_t most_calls = 32;    // of each, the last ones
  static constexpr std::size_t most_steps = 1024;  // of a call

  void add(uid_t tenant, LeaseId lease, std::vector<TracedCall> calls, MonotonicTime now);
  /// Of that tenant's lease, the oldest first; nothing: none is remembered.
  [[nodiscard]] std::optional<std::vector<TracedCall>> find(uid_t tenant, LeaseId lease) const;

 private:
  struct OfLease {
    uid_t tenant = 0;
    LeaseId lease;
    std::deque<TracedCall> calls;
  };
  std::list<OfLease> leases_;  // the one that was told of longest ago first
};

/// The body of POST /v1/leases/ID/calls. Errors: `bad_request`, naming the field.
[[nodiscard]] Result<std::vector<TracedCall>> parse_traced_calls(std::span<const std::byte> body);
[[nodiscard]] std::string traced_calls_json(const std::vector<TracedCall>& calls,
                                            MonotonicTime now);

}  // namespace orchid::gateway
