// memory/memory_of_calls.h: leased memory that workers open during their calls.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "children/child_watch.h"
#include "children/time_limit.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/token_bucket.h"
#include "foundation/unique_fd.h"
#include "memory/memory_leases.h"
#include "memory/memory_process.h"
#include "protocol/control_messages.h"
#include "protocol/service_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. A worker that opens a memory gets a socket, at whose other end a
/// process of its own reaches the memory, on this host or another one. No byte of it passes here.
class MemoryOfCalls {
 public:
  struct Parts {
    boost::asio::io_context& io;
    ChildWatch& children;
    const MemoryLeases& leases;                       // those of this executor
    std::function<void(const ControlMessage&)> tell;  // the gateway
  };
  struct Options {
    std::filesystem::path program;  // orchid-memory
    std::string host_name;          // of this executor, for messages
    SchedulingClass scheduling = SchedulingClass::normal;
    /// For whoever has used the memory before to leave, and for the gateway to answer.
    std::chrono::milliseconds open_within{10'000};
    /// For an executor to notice what has become of a lease, and for the gateway to hear of it.
    std::chrono::milliseconds settle_within{5'000};
  };
  static constexpr std::size_t most_of_worker = 4;
  /// Each is a process, whose buffers nobody is charged for.
  static constexpr std::size_t most_of_tenant = 16;
  /// Of those that are looked for: a worker asks one thing at a time, and one more when a depot has
  /// ended meanwhile. So nobody who speaks for workers has more of this executor's memory.
  static constexpr std::size_t most_wanted_of_worker = 2;
  /// How often some is looked for on behalf of one tenant's calls: the gateway is asked, or a
  /// process is started. More waits.
  static constexpr TokenBucket::Rate looks_of_tenant{.per_second = 40, .burst = 64};
  /// Everything in `parts` outlives it.
  MemoryOfCalls(Parts parts, Options options);

  /// Once, with the descriptor that goes with it (-1: none does); its sequence is the request's.
  using Answer = std::function<void(const ServiceAnswer&, int descriptor)>;
  /// `request`: open_memory.
  void ask(const LeaseTenant& tenant, std::uint64_t worker, const ServiceRequest& request,
           const Answer& answer);
  void obey(const MemoryFound& message);
  void obey(const MemoryNotFound& message);
  /// A gateway has welcomed this executor. `finds_memory`: it can be asked.
  void begin(bool finds_memory) { finds_memory_ = finds_memory; }
  void worker_ended(std::uint64_t worker);
  /// The grant ends.
  void end_all();

 private:
  /// From one worker to one lease.
  struct Way {
    LeaseTenant tenant;
    std::uint64_t worker = 0;
    std::uint32_t sequence = 0;
    Answer answer;  // empty: it has been given
    LeaseId lease;
    MonotonicTime due;
    Failure fault;                              // the last one, which is told when no more is tried
    bool is_own = false;                        // of this executor
    MemoryReach reached{};                      // when there is a process
    std::optional<MonotonicTime> settled_by{};  // its connection has ended
    UniqueFd socket{};                          // the worker's end, until it is given
    std::unique_ptr<MemoryProcess> process{};
    std::unique_ptr<TimeLimit> pause{};  // until it is tried again
  };
  using Ways = std::map<std::uint64_t, Way>;  // by the number of the question about it
  [[nodiscard]] Result<void> check(const Way& wanted) const;
  void look(Ways::iterator way);
  void start(Ways::iterator way, const MemoryReach& reach);
  void connected(std::uint64_t number);
  void ended(std::uint64_t number, const std::optional<Failure>& why);
  [[nodiscard]] bool may_start(Ways::iterator way);
  void lost(std::uint64_t number);
  void settle(Way& way, std::uint64_t number);
  static void tell_fate(Way& way, bool has_ended);
  void try_later(Ways::iterator way, Failure why,
                 std::chrono::milliseconds after = std::chrono::milliseconds(100));
  void refuse(Ways::iterator way, const Failure& why);

  Parts parts_;
  Options options_;
  bool finds_memory_ = false;
  std::uint64_t last_;
  Ways ways_;
  std::map<std::uint32_t, TokenBucket> tokens_;  // by uid
};

}  // namespace orchid::executor
