// leases/memory_leases.h: leases of memory: who has how much on which executor, and until when.
// Plain decisions over plain data: no socket, no thread; time is passed in.
//
// The executor is the authority for whether a lease is there, and for whether it fits. It outlives
// this process: what it has comes back with its hello, without the key.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/metrics_text.h"
#include "hosts/host_book.h"
#include "leases/worker_broker.h"
#include "protocol/control_messages.h"

namespace orchid::gateway {

struct MemoryLeaseRequest {
  LeaseTenant tenant{};
  ByteCount bytes{};
  WaitMode wait = WaitMode::adaptive;  // of who serves, for the next request
  placement::WorkerRequest on{};       // its constraints on the host, and where the client is
  std::chrono::milliseconds duration{60'000};
};

/// A lease of memory as its owner sees it. A value.
struct MemoryLeaseView {
  LeaseId id;
  ByteCount bytes;
  WaitMode wait = WaitMode::adaptive;
  bool open = false;  // false: its executor has not said yet that it is there
  std::chrono::milliseconds expires_in{0};
  std::string node;  // what constraints call the host
  std::string boot_id;
  std::string address;  // "host:port"
  std::string key;      // 32 hexadecimal digits; empty: the lease was made by an earlier gateway
};

/// Owned by the control thread.
class MemoryLeases {
 public:
  struct Parts {
    WorkerBroker& broker;
    std::function<void(const ExecutorId&, ControlMessage)> send;
    /// What the tenant has in data objects, which counts towards the same limit.
    std::function<ByteCount(uid_t tenant)> data_of;
  };
  struct Options {
    ByteCount per_tenant{};             // data objects and leases together; 0: no limit
    std::size_t most_per_tenant = 256;  // leases, however small
    std::optional<uid_t> owner{};       // whose gateway this is; nothing: everybody's
    std::chrono::milliseconds answer_within{10'000};  // of an executor
  };
  /// Everything in `parts` outlives it.
  MemoryLeases(Parts parts, Options options) : parts_(std::move(parts)), options_(options) {}

  using Opened = std::function<void(Result<MemoryLeaseView>)>;
  /// `done` is called once, now or later. Errors: `bad_request`, `quota`, `no_data_memory`,
  /// `unreachable`, and what the last executor that was asked has said.
  void open(MemoryLeaseRequest request, MonotonicTime now, Opened done);
  /// Errors: `not_found`, `bad_request`.
  [[nodiscard]] Result<MemoryLeaseView> renew(uid_t tenant, LeaseId id,
                                              std::chrono::milliseconds duration,
                                              MonotonicTime now);
  /// Errors: `not_found`.
  [[nodiscard]] Result<void> close(uid_t tenant, LeaseId id, MonotonicTime now);
  [[nodiscard]] Result<MemoryLeaseView> find(uid_t tenant, LeaseId id, MonotonicTime now) const;
  [[nodiscard]] std::vector<MemoryLeaseView> list(uid_t tenant, MonotonicTime now) const;
  [[nodiscard]] bool knows(LeaseId id) const { return leases_.contains(id); }
  [[nodiscard]] ByteCount leased_to(uid_t tenant) const;

  /// An executor has connected with these, and with no others. Before the broker learns of it.
  void executor_joined(const Executor& executor, const std::vector<MemoryHeld>& held,
                       MonotonicTime now);
  void hear(const ExecutorId& executor, const MemoryLeased& message, MonotonicTime now);
  void hear(const ExecutorId& executor, const MemoryRefused& message, MonotonicTime now);
  void hear(const ExecutorId& executor, const MemoryEnded& message, MonotonicTime now);
  /// A call there wants to use a lease of its tenant's.
  void hear(const ExecutorId& executor, const FindMemory& question, MonotonicTime now);
  void tick(MonotonicTime now);
  void add_metrics(MetricsText& text) const;

 private:
  struct Lease {
    MemoryLeaseRequest request;
    std::string key{};
    MonotonicTime expires{};
    ExecutorId executor{""};
    std::string node{};
    std::string boot_id{};
    std::string address{};
    // Until it is open.
    Opened waiting{};
    MonotonicTime due{};
    std::set<ExecutorId> asked{};
    std::optional<Failure> refused{};  // by the last one
  };
  using Leases = std::map<LeaseId, Lease>;
  [[nodiscard]] Result<void> check(const MemoryLeaseRequest& request) const;
  [[nodiscard]] const Executor* choose(const Lease& lease, MonotonicTime now) const;
  [[nodiscard]] Failure nobody(const MemoryLeaseRequest& request) const;
  void ask_next(Leases::iterator lease, MonotonicTime now);
  void ask(LeaseId id, const Lease& lease, MonotonicTime now);
  void lost(Leases::iterator lease, const Failure& why, MonotonicTime now);
  void end_at(const ExecutorId& executor, LeaseId id, MonotonicTime now);
  [[nodiscard]] Result<Leases::iterator> find_own(uid_t tenant, LeaseId id);
  [[nodiscard]] Result<Leases::iterator> find_for(const Executor* asker,
                                                  const FindMemory& question);
  [[nodiscard]] static MemoryLeaseView view_of(LeaseId id, const Lease& lease, MonotonicTime now);

  Parts parts_;
  Options options_;
  Leases leases_;
  /// Ended here, and perhaps not at their executors yet: until then they may come back with one.
  std::map<LeaseId, MonotonicTime> ended_;
};

}  // namespace orchid::gateway
