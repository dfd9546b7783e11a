// leases/lease_table.h: the leases of this executor. It is the authority for them; the gateway's
// table is a copy.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "leases/host_claims.h"
#include "protocol/control_messages.h"
#include "protocol/core_list.h"
#include "protocol/lane_protocol.h"

namespace orchid::executor {

/// Pure: no I/O, no clock of its own. Owned by the agent's thread.
class LeaseTable {
 public:
  static constexpr std::size_t remembered_ends = 4096;
  /// A client's lease whose worker is claimed goes on for so long without a gateway to renew it.
  static constexpr std::chrono::minutes outage_grace{30};
  /// And for so long once a gateway is back, so that the client can renew it.
  static constexpr std::chrono::seconds renewal_grace{30};
  /// `cores`: those that it offers, and the only ones that it ever will; as with `gpus`. What
  /// leases have is claimed of the host; `claims` outlives the table; null: nobody else is there.
  explicit LeaseTable(CoreList cores, CoreList gpus = {}, HostClaims* claims = nullptr)
      : most_(std::move(cores)),
        cores_(most_),
        all_gpus_(std::move(gpus)),
        gpus_(all_gpus_),
        claims_(claims) {}

  /// Idempotent by id: a second `open` of the same lease answers as the first. A request that names
  /// no cores gets the lowest free ones. Errors: `no_capacity`, `denied` (an older epoch),
  /// `conflict` (it has ended), `bad_request`.
  [[nodiscard]] Result<LeaseOpened> open(const OpenLease& request, MonotonicTime now);
  /// Connections for one place, while some of them are about to close.
  static constexpr std::uint32_t claims_per_place = 2 * warm_workers_per_place;
  /// What a client must know to use a worker of the lease. Errors: `denied` (no such lease, or a
  /// wrong secret: not told apart), `no_capacity` (all its workers are claimed), `denied` (another
  /// user), `lease_ended` (its cores are being taken back), `unsupported` (not `apart`, though its
  /// modules have separate processes).
  struct Claim {
    LeaseId lease;
    std::string secret;
    std::optional<std::uint32_t> uid;  // nothing: a client of another host
    bool apart = false;  // for one module; only of the gateway's own leases there are several
  };
  /// Returns the lease's terms, valid until the next change.
  [[nodiscard]] Result<const OpenLease*> claim(const Claim& claim);
  [[nodiscard]] std::optional<std::string> secret_of(const LeaseId& lease) const;
  /// A claimed worker is given back. The lease closes when its last one is.
  [[nodiscard]] std::optional<LeaseClosed> give_back(const LeaseId& lease);
  /// True when there was such a lease.
  [[nodiscard]] bool close(const LeaseId& lease);
  /// A client's lease lasts until `now + expires_in`. False: there is no such lease.
  bool renew(const RenewLease& renewal, MonotonicTime now);
  /// Leases that nobody claimed in time, and clients' leases whose time is over; they are closed.
  [[nodiscard]] std::vector<LeaseClosed> end_overdue(MonotonicTime now);

  /// A gateway of this epoch commands from now on; the gateway's own leases of older epochs are
  /// closed and returned. Errors: `denied`: another gateway has commanded with a newer epoch.
  [[nodiscard]] Result<std::vector<LeaseId>> begin_epoch(std::uint64_t epoch, MonotonicTime now);
  /// No gateway answers from now on.
  void lose_gateway(MonotonicTime now);
  /// The clients' leases, with the time that they have left.
  [[nodiscard]] std::vector<LeaseHeld> held_by_clients(MonotonicTime now) const;

  /// No lease is opened from now on.
  void drain() { draining_ = true; }
  /// What an offer of other cores leaves behind.
  struct Shrunk {
    std::vector<LeaseClosed> closed;  // nothing of them was claimed
    std::vector<LeaseId> lost;        // their workers have to leave their cores
  };
  /// It offers these of its cores from now on, and no others. Leases that have one which is not
  /// among them end: those in `lost` close as `reclaimed` when their workers are given back.
  [[nodiscard]] Shrunk offer(const CoreList& cores);
  /// The same of its GPUs, which are all usable at first.
  [[nodiscard]] Shrunk offer_gpus(const CoreList& gpus);
  /// No process that has served this ended lease is left: until then its GPUs are not another
  /// executor's.
  void vacated(const LeaseId& lease);
  /// Cores that another executor had are looked at again; true: some of them are free now.
  [[nodiscard]] bool look_at_others();
  /// Its cores are taken back: leases of which nothing is claimed are closed and returned, the
  /// others close as `reclaimed` when their workers are given back.
  [[nodiscard]] std::vector<LeaseClosed> reclaim();

  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] std::uint32_t cores_free() const {
    return static_cast<std::uint32_t>(without(usable_cores(), taken_).size());
  }
  [[nodiscard]] const CoreList& cores() const { return cores_; }
  /// Those that it offers, without what another executor of the host was found to have.
  [[nodiscard]] CoreList usable_cores() const { return without(cores_, others_); }

 private:
  struct Lease {
    OpenLease terms;
    std::uint32_t claimed = 0;
    bool ever_claimed = false;
    bool reclaimed = false;  // it has a core or GPU that is not offered any more
    MonotonicTime lapses;
    MonotonicTime expires = MonotonicTime::max();
  };
  using Leases = std::unordered_map<LeaseId, Lease>;
  [[nodiscard]] std::optional<LeaseEnd> overdue(const Lease& lease, MonotonicTime now) const;
  [[nodiscard]] Result<CoreList> choose_cores(const OpenLease& request) const;
  [[nodiscard]] Result<void> check_gpus(const OpenLease& request) const;
  [[nodiscard]] CoreList claim_all(HostPart part, const CoreList& numbers);
  void leave_all(HostPart part, const CoreList& numbers);
  [[nodiscard]] Result<void> claim_parts(const CoreList& cores, const CoreList& gpus);
  void remove(Leases::iterator lease);
  [[nodiscard]] CoreList gpus_left() const;
  [[nodiscard]] Shrunk end_lost();

  CoreList most_;   // that it can ever offer
  CoreList cores_;  // of these, those that it offers now
  CoreList taken_;  // by leases
  CoreList all_gpus_;
  CoreList gpus_;  // of these, those that can be used now
  CoreList gpus_taken_;
  HostClaims* claims_;
  CoreList others_;  // cores that another executor had when a lease wanted them
  bool draining_ = false;
  bool reclaimed_ = false;
  std::uint64_t epoch_ = 0;
  std::optional<MonotonicTime> gateway_lost_at_;
  Leases leases_;
  std::map<LeaseId, CoreList> left_gpus_;  // of leases that have ended and are not vacated
  std::set<LeaseId> ended_;                // of this epoch, the newest `remembered_ends` by number
};

}  // namespace orchid::executor
