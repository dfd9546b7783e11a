// hosts/host_book.h: the machines we know and the executors on them. Plain data: no socket, no
// thread, no clock.
//
// A host is known by its boot id, and its cores are counted once, however many executors offer
// them.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/strong_id.h"
#include "protocol/control_messages.h"
#include "tenants/peer_identity.h"

namespace orchid::gateway {

/// Random for each executor process.
using ExecutorId = StrongId<struct ExecutorIdTag, std::string>;

enum class ExecutorState : std::uint8_t {
  connected,
  lost,  // its connection broke; it may come back with all its leases
};

struct Executor {
  ExecutorId id;
  PeerIdentity owner;
  HostDescription host;
  std::string version;
  std::string lane_socket;
  std::string lane_address;  // empty: only for clients of its own host
  ExecutorState state = ExecutorState::connected;
  MonotonicTime lost_at;
  CapacityReport capacity;  // as it last said
};

/// Owned by the control thread.
class HostBook {
 public:
  /// Enters a process that connected for the first time, or again with a fresh stream. Returns
  /// those that it replaces, which are no longer in the book: a lost one, or one with the same lane
  /// socket, of the same owner on the same host.
  std::vector<ExecutorId> join(Executor executor);
  void resume(const ExecutorId& id);
  void lose(const ExecutorId& id, MonotonicTime now);
  void remove(const ExecutorId& id);
  void report(const ExecutorId& id, CapacityReport capacity);

  [[nodiscard]] const Executor* find(const ExecutorId& id) const;
  [[nodiscard]] const std::map<ExecutorId, Executor>& executors() const { return executors_; }
  /// Different cores that the host's executors offer together.
  [[nodiscard]] std::size_t host_cores(const std::string& boot_id) const;
  [[nodiscard]] std::vector<ExecutorId> lost_before(MonotonicTime time) const;

 private:
  std::map<ExecutorId, Executor> executors_;
};

}  // namespace orchid::gateway
