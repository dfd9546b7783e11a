// leases/worker_supply.h: how dispatchers get workers from the control thread, and what they hear
// from it.
#pragma once
#include <string>
#include <vector>

#include "hosts/host_book.h"
#include "leases/lease_book.h"
#include "placement/worker_request.h"
#include "protocol/control_messages.h"
#include "protocol/lane_protocol.h"
#include "protocol/lease_id.h"

namespace orchid::gateway {

/// One worker for one holder: what is needed to claim it at its executor's lane socket. A value.
struct WorkerGrant {
  LeaseId lease;
  std::string secret;  // never logged
  ExecutorId executor;
  std::string lane_socket;
  std::string lane_address;  // for clients of other hosts; empty: there is none
  std::string node;          // host name
  std::string boot_id;
  std::uint32_t cores = 1;
  ByteCount memory{};
  CoreList gpus{};  // indices on its host
  std::string gpu_model{};
  /// The newest that its executor speaks.
  std::uint32_t lane_protocol = shared_lane_protocol;
};

/// The only alternative of what most workers have: one core, and what else the site gives.
[[nodiscard]] inline std::vector<placement::WorkerShape> one_core_worker() {
  return {placement::WorkerShape{}};
}

/// Whether any executor is there that could give a dispatcher workers.
struct Supply {
  bool exists = false;
  /// If not: what is needed, and what there is; empty: no executor is there at all.
  std::string missing{};
  /// The executor with the data has no cores just now, and another one has: calls are given back
  /// with `data_elsewhere`, to be placed anew.
  bool is_elsewhere = false;
  friend bool operator==(const Supply&, const Supply&) = default;
};

/// What a dispatcher hears; called on its thread.
class WorkerTaker {
 public:
  virtual ~WorkerTaker() = default;
  virtual void worker_granted(WorkerGrant grant) = 0;
  /// There is no place for one more now. What is remembered of this lease, which there will not be,
  /// says why, and the newest of it; so this is told once until a worker is granted.
  virtual void worker_refused(LeaseId lease) = 0;
  /// Others starve: give back `count` workers, in place of what was asked before, idle ones at
  /// once, busy ones after the call that they run. `where`: those of these executors first, busy or
  /// not, since the others would not do; empty: any.
  virtual void workers_asked_back(unsigned count, const std::vector<ExecutorId>& where) = 0;
  /// The executor took the lease back: its worker is gone.
  virtual void lease_ended(LeaseId lease) = 0;
  /// Whether this executor answers the gateway. Its workers go on without it, but they load no code
  /// and are not replaced.
  virtual void executor_answers(const ExecutorId& executor, bool answers) = 0;
  virtual void supply_is(const Supply& supply) = 0;
};

/// Where dispatchers ask. Called on their threads; answers come later, through WorkerTaker.
class WorkerSupply {
 public:
  virtual ~WorkerSupply() = default;
  /// How many workers the dispatcher would hold now if it could, those that it has included.
  /// Replaces the number before.
  virtual void want_workers(HolderId dispatcher, unsigned total) = 0;
  /// One more than that, for calls that are likely to come: if a place is free for it, nobody waits
  /// for a worker, and it holds no other one that it does not want. Anybody who wants a worker is
  /// given its place first. Not answered if there is none.
  virtual void spare_worker(HolderId dispatcher) = 0;
  virtual void give_back(HolderId dispatcher, LeaseId lease) = 0;
};

}  // namespace orchid::gateway
