// hosts/host_book.h: the machines we know and the executors on them. Plain data: no socket, no
// thread, no clock.
//
// A host is known by its boot id, and its cores are counted once, however many executors offer
// them.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/strong_id.h"
#include "protocol/control_messages.h"
#include "protocol/lane_protocol.h"
#include "protocol/source_inventory.h"
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
  GrantTerms grant;
  std::string granted_by;                     // name of who granted the cores
  MonotonicTime ends = MonotonicTime::max();  // its grant, by what it says
  std::string version;
  std::string lane_socket;
  std::string lane_address;                            // empty: only for clients of its own host
  std::uint32_t lane_protocol = shared_lane_protocol;  // the newest that it speaks
  std::optional<ByteCount> data_memory{};              // for data objects; nothing: it keeps none
  bool copies_data = false;                            // to and from other executors
  bool leases_memory = false;                          // of its memory for data
  bool digests_data = false;                           // when it is asked to
  bool keeps_data = false;                             // as files, beyond its own end
  bool streams_data = false;                           // to and from a gateway of another host
  ExecutorState state = ExecutorState::connected;
  MonotonicTime lost_at;
  MonotonicTime refusing_until;               // it has just refused a lease; 0: it has not
  std::optional<MonotonicTime> bare_since{};  // its owner has taken all cores, and not ended it
  bool is_bare = false;                       // for so long that nobody should wait for them
  std::map<std::uint32_t, MonotonicTime> gpus_return_by;  // by index: waited for until then
  CapacityReport capacity;                                // as it last said
};

/// What a batch system may call this executor's host: as its job says, and as the host calls
/// itself, whole and without a domain. None is empty; some may be alike.
[[nodiscard]] std::vector<std::string> names_of_host(const Executor& executor);

/// Owned by the control thread.
class HostBook {
 public:
  /// Enters a process that connected for the first time, or again with a fresh stream. Returns
  /// those that it replaces, which are no longer in the book: of the same owner on the same host,
  /// those with the same lane socket, and lost ones of the same job, or like it of none.
  std::vector<ExecutorId> join(Executor executor);
  void resume(const ExecutorId& id);
  void lose(const ExecutorId& id, MonotonicTime now);
  void remove(const ExecutorId& id);
  void report(const ExecutorId& id, CapacityReport capacity);
  void change_grant(const ExecutorId& id, const GrantChanged& change, MonotonicTime now);
  void refuse_until(const ExecutorId& id, MonotonicTime time);
  /// Since when it is without cores, if it is.
  static void note_cores(Executor& executor, MonotonicTime now);
  /// Those that have had no cores since then or before are bare. True: others than before.
  bool find_bare(MonotonicTime since);
  /// This GPU has a fault, and may be usable again by then; nothing: nobody waits for it.
  void wait_for_gpu(const ExecutorId& id, std::uint32_t index, std::optional<MonotonicTime> until);

  [[nodiscard]] const Executor* find(const ExecutorId& id) const;
  [[nodiscard]] const std::map<ExecutorId, Executor>& executors() const { return executors_; }
  [[nodiscard]] std::vector<const Executor*> of_host(const std::string& boot_id) const;
  [[nodiscard]] std::set<std::string> boot_ids() const;
  /// Hosts of executors that name one of these nodes, or whose hostname is among them.
  [[nodiscard]] std::set<std::string> boot_ids_of(const TouchedNodes& nodes) const;
  [[nodiscard]] std::size_t connected() const;
  /// Different cores that the host's executors offer together.
  [[nodiscard]] std::size_t host_cores(const std::string& boot_id) const;
  [[nodiscard]] std::vector<ExecutorId> lost_before(MonotonicTime time) const;
  /// Those that have refused a lease, and whose pause is over at `time`; they are asked again.
  [[nodiscard]] std::vector<ExecutorId> end_refusals(MonotonicTime time);
  /// Whether GPUs have been waited for up to now.
  [[nodiscard]] bool end_waits_for_gpus(MonotonicTime now);

 private:
  std::map<ExecutorId, Executor> executors_;
  std::map<std::string, std::set<ExecutorId>> by_host_;  // by boot id
  std::map<std::string, std::set<ExecutorId>> by_name_;  // by hostname, and by node
  std::set<ExecutorId> refusing_;
};

}  // namespace orchid::gateway
