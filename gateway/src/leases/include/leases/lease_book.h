// leases/lease_book.h: which cores of which executor are promised to whom. Plain data: no socket,
// no thread; time is passed in.
//
// The executor is the authority for its leases, this table a copy. Invariant: a lease's cores count
// as taken from the moment it is asked for until its executor has said that it is closed, or that
// process is known to be gone; so the cores of a host are never promised twice. Only those that
// Slurm or an executor has taken back go to others also when its executor is lost: the host's
// executors settle between themselves what may be used then.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "hosts/capacity.h"
#include "hosts/host_book.h"
#include "protocol/control_messages.h"
#include "protocol/lease_id.h"

namespace orchid::gateway {

/// Who holds leases: a dispatcher of the gateway, or the gateway for a client.
using HolderId = StrongId<struct HolderIdTag>;

enum class LeaseState : std::uint8_t {
  opening,  // asked for
  open,     // the executor has it
  closing,  // given up; its cores are not free before the executor says so
};

struct Lease {
  LeaseId id;
  ExecutorId executor;
  HolderId holder;
  LeaseTenant tenant;
  std::uint32_t workers = 1;
  std::uint32_t cores_per_worker = 1;
  CoreList core_ids;
  ByteCount memory;                   // per worker
  std::optional<ClientTerms> client;  // of a client's lease
  std::string secret;                 // empty: it was opened by a gateway before this one
  LeaseState state = LeaseState::opening;
  MonotonicTime changed;                        // when it came into this state
  bool closed_early = false;                    // before the answer to an open_lease
  unsigned unanswered_opens = 0;                // while there are any, it may yet be opened (again)
  std::optional<placement::DecisionId> placed;  // nothing: it has lost its place
  std::optional<placement::Place> lost_place{};  // nobody else has it yet
  CoreList gpus{};                               // indices
  [[nodiscard]] std::size_t cores() const { return std::size_t{workers} * cores_per_worker; }
  [[nodiscard]] OpenLease open_message() const;
};

/// Owned by the control thread. `hosts` and `capacity` outlive it.
class LeaseBook {
 public:
  LeaseBook(std::uint64_t epoch, const HostBook& hosts, Capacity& capacity)
      : epoch_(epoch), hosts_(hosts), capacity_(capacity) {}

  /// Whose a lease is to be.
  struct Owner {
    HolderId holder;
    LeaseTenant tenant{};
    std::optional<ClientTerms> client{};
  };
  struct Opening {
    placement::DecisionId decision;  // says why
    Result<const Lease*> lease;
  };
  /// The next unused id of this epoch.
  [[nodiscard]] LeaseId next_id() { return {.epoch = epoch_, .number = next_number_++}; }
  /// Enters a lease of one worker that is to be asked for with its `open_message`. Errors:
  /// `no_capacity`, `quota`.
  [[nodiscard]] Opening open(const Owner& owner, const placement::Request& request,
                             MonotonicTime now);

  // What executors say. Repetitions change nothing.
  enum class Opened : std::uint8_t { now, before, unwanted };
  /// `unwanted`: we do not know it, or have given it up; it is to be closed.
  Opened opened(const ExecutorId& executor, LeaseId id, MonotonicTime now);
  /// A client's lease that the executor has, perhaps from an earlier gateway. False: it is to be
  /// closed, since it has been given up here, or its cores are promised already.
  bool adopt(const ExecutorId& executor, const LeaseHeld& held, HolderId holder, MonotonicTime now);
  /// Returns what it was. It leaves the book, unless an open_lease is still on its way to the
  /// executor (it was restated when it had just lapsed, say): then it is closing, and `close_again`
  /// is set.
  struct Ended {
    Lease lease;
    bool close_again = false;
  };
  std::optional<Ended> refused(const ExecutorId& executor, LeaseId id, MonotonicTime now);
  std::optional<Ended> closed(const ExecutorId& executor, LeaseId id, MonotonicTime now);
  /// Of a client's lease: how long it lasts now, for messages to come.
  void renew(LeaseId id, std::chrono::milliseconds expires_in);
  /// Gives it up. True: the executor is to be told.
  bool close(LeaseId id, MonotonicTime now);
  /// The process is gone, and all its leases with it. Returns them.
  std::vector<Lease> drop_executor(const ExecutorId& executor, MonotonicTime now);
  /// Its cores are to be somebody else's. It stays what it is until its executor says that it
  /// ended.
  void lose_place(const placement::Displaced& loss);
  /// Nobody says any more when its leases end: places that they have lost are others' now, and they
  /// are to be closed. Returns what they were, but for those that were closing.
  [[nodiscard]] std::vector<Lease> lose_executor(const ExecutorId& executor, MonotonicTime now);
  /// The same, and it is to be closed. Returns what it was, unless it was closing; it is then.
  std::optional<Lease> displace(const placement::Displaced& loss, MonotonicTime now);
  /// What to tell an executor of the same process whose stream began afresh: each lease, as it
  /// should be.
  [[nodiscard]] std::vector<ControlMessage> restate(const ExecutorId& executor);

  [[nodiscard]] const Lease* find(LeaseId id) const;
  [[nodiscard]] const Lease* of_decision(placement::DecisionId decision) const;
  [[nodiscard]] std::vector<LeaseId> of_holder(HolderId holder) const;
  [[nodiscard]] const std::map<LeaseId, Lease>& leases() const { return leases_; }
  /// Asked for before `time`, and not answered yet.
  [[nodiscard]] std::vector<LeaseId> opening_since(MonotonicTime time) const;
  [[nodiscard]] std::size_t closing_count() const;

 private:
  [[nodiscard]] std::optional<Ended> end(std::map<LeaseId, Lease>::iterator found,
                                         MonotonicTime now);
  void free_cores(Lease& lease, MonotonicTime now);
  void vacate(Lease& lease);

  std::uint64_t epoch_;
  std::uint64_t next_number_ = 1;
  const HostBook& hosts_;
  Capacity& capacity_;
  std::map<LeaseId, Lease> leases_;
  std::map<placement::DecisionId, LeaseId> by_decision_;
};

}  // namespace orchid::gateway
