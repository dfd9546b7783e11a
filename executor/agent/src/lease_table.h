// agent/lease_table.h: the leases of this executor. It is the authority for them; the gateway's
// table is a copy.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// Pure: no I/O, no clock of its own. Owned by the agent's thread.
class LeaseTable {
 public:
  static constexpr std::size_t remembered_ends = 4096;
  explicit LeaseTable(std::uint32_t cores) : cores_(cores) {}

  /// Idempotent by id: a second `open` of the same lease answers as the first. Errors:
  /// `no_capacity`, `denied` (an older epoch), `conflict` (it has ended), `bad_request`.
  [[nodiscard]] Result<LeaseOpened> open(const OpenLease& request, MonotonicTime now);
  /// What a client must know to use a worker of the lease. Errors: `denied` (no such lease, or a
  /// wrong secret: not told apart), `no_capacity` (all its workers are claimed), `denied` (another
  /// user).
  struct Claim {
    LeaseId lease;
    std::string secret;
    std::uint32_t uid = 0;
  };
  [[nodiscard]] Result<void> claim(const Claim& claim);
  /// A claimed worker is given back. The lease closes when its last one is.
  [[nodiscard]] std::optional<LeaseClosed> give_back(const LeaseId& lease);
  /// True when there was such a lease.
  [[nodiscard]] bool close(const LeaseId& lease);
  /// Leases that nobody claimed in time; they are closed.
  [[nodiscard]] std::vector<LeaseClosed> lapse(MonotonicTime now);
  /// A gateway of this epoch commands from now on; leases of older ones are closed and returned.
  [[nodiscard]] std::vector<LeaseId> begin_epoch(std::uint64_t epoch);

  [[nodiscard]] std::uint32_t cores_free() const { return cores_ - cores_used_; }
  [[nodiscard]] std::uint32_t cores() const { return cores_; }

 private:
  struct Lease {
    OpenLease terms;
    std::uint32_t claimed = 0;
    bool ever_claimed = false;
    MonotonicTime lapses;
  };
  using Leases = std::unordered_map<LeaseId, Lease>;
  void remove(Leases::iterator lease);

  std::uint32_t cores_;
  std::uint32_t cores_used_ = 0;
  std::uint64_t epoch_ = 0;
  Leases leases_;
  std::set<LeaseId> ended_;  // of this epoch, the newest `remembered_ends` by number
};

}  // namespace orchid::executor
