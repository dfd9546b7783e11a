// agent/agent.h: the executor's parts, and what they tell each other: commands of the gateway
// become leases, leases become lanes.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bandwidth/bandwidth_governor.h"
#include "children/child_watch.h"
#include "code/code_service.h"
#include "code/code_store.h"
#include "code/compiler_pool.h"
#include "control_client.h"
#include "data/data_copying.h"
#include "data/data_digests.h"
#include "data/data_of_calls.h"
#include "data/data_service.h"
#include "depots/call_services.h"
#include "depots/depot_pool.h"
#include "devices/device_pool.h"
#include "grant/core_feed.h"
#include "grant/grant.h"
#include "lanes/lane_server.h"
#include "lanes/modules_of_calls.h"
#include "leases/host_claims.h"
#include "leases/lease_table.h"
#include "memory/memory_leases.h"
#include "memory/memory_of_calls.h"
#include "supervisor_notice.h"
#include "topology/host.h"
#include "topology/power_meter.h"
#include "workers/worker_pool.h"

namespace orchid::executor {

struct LaneListeners {
  UniqueFd local;
  UniqueFd remote;  // TCP; may be empty
};

/// Owned by the agent's only thread, which runs `io`.
class Agent {
 public:
  struct Options {
    GatewayAddress gateway;
    std::string token;  // empty over a Unix socket
    std::filesystem::path runtime_directory;
    std::filesystem::path program_directory;
    WorkerPool::Options workers;
    CompilerPool::Options compilers;
    std::chrono::milliseconds compile_quota = ModulesOfCalls::compile_time;
    std::string lane_address;  // "IP:port" of the listener for clients of other hosts; may be empty
    Grant::Options grant;
    std::optional<BandwidthGovernor::Options> bandwidth;  // nothing: functions run unmeasured
    /// How many processes of ours the kernel has ended for want of memory; may be empty.
    std::function<std::uint64_t()> memory_kills;
    std::string kind;  // of this host; empty: what its GPUs say
    std::vector<OfferedGpu> gpus;
    std::map<std::uint32_t, std::string> gpu_uuids;  // as in DevicePool
    DeviceProcess::Options devices;
    DataBook::Options data;                       // a budget of 0: it keeps no data objects
    std::filesystem::path data_spill;             // where those go that do not fit; empty: nowhere
    std::optional<DurableFolder> data_durable{};  // where those are kept that are to outlive us
    DataCopying::Options copying;                 // of these
    MemoryLeases::Options memory;                 // likewise
    Depot::Options depots;
    UniqueFd core_feed;  // who says which cores are offered now; empty: all, always
    /// What there is to do while processes that were told to end are ending; may be empty.
    std::function<void()> while_leaving;
  };
  Agent(boost::asio::io_context& io, Options options, HostResources host, CodeStore store,
        LaneListeners listeners, SupervisorNotice notice);
  void start();
  /// Ends the sessions and processes; the event loop runs out of work then.
  void stop();
  /// The cores go back to their owner: evicts what runs, tells everybody, and stops when no process
  /// of ours is left on them.
  void reclaim(std::string_view why);
  /// What a signal to end means: a batch job's cores are reclaimed.
  void end();

 private:
  void compiler_ready(const CompilerReady& target);
  [[nodiscard]] Result<void> welcomed(const ControlWelcome& welcome);
  void obey(const ControlMessage& message);
  void obey_about_data(const ControlMessage& message);
  [[nodiscard]] bool memory_ran_out();
  void open_lease(const OpenLease& request);
  void say_closed(const LeaseClosed& closed);
  void end_shrunk(const LeaseTable::Shrunk& shrunk);
  void obey_data(const ControlMessage& message);
  void gpus_changed();
  void end_overdue_leases();
  void report_capacity();
  [[nodiscard]] bool has_news() const;
  [[nodiscard]] std::uint64_t holds() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> growing_counters() const;
  void look_at_grant();
  void tell_grant(const CoreList& cores);
  void offer(const CoreList& cores);
  void bind_to_offer();
  void bind_children();
  void finish_reclaim();
  void tick();
  [[nodiscard]] ControlHello make_hello(const CompilerReady& target) const;
  void complete_hello(ControlHello& hello);
  [[nodiscard]] bool keeps_data() const { return options_.data.budget.value != 0; }

  boost::asio::io_context& io_;
  Options options_;
  HostResources host_;
  Grant grant_;
  PowerMeter power_;
  CodeStore store_;
  SupervisorNotice notice_;
  TickRate rate_ = TickRate::measure();
  ChildWatch children_;
  SocketClaims claims_;
  LeaseTable leases_;
  DevicePool devices_;
  WorkerPool workers_;
  CompilerPool compilers_;
  CodeService code_;
  DataService data_;
  DataOfCalls data_of_calls_;
  DepotPool depots_;
  DataCopying copying_;
  DataDigests digests_;
  MemoryLeases memory_;
  MemoryOfCalls memory_of_calls_;
  std::map<std::string, std::uint64_t> counters_;
  std::uint64_t memory_kills_ = 0;  // that somebody has been told of
  LaneServices services_;
  LaneServer lanes_;
  ModulesOfCalls modules_of_calls_;
  std::optional<BandwidthGovernor> bandwidth_;
  std::unique_ptr<ControlClient>
      gateway_;  // from the compiler's first report on, which says what this host runs
  std::size_t reported_ready_ = 0;  // workers, as the gateway was last told
  std::uint64_t reported_improved_ = 0;
  std::map<std::string, std::uint64_t> reported_growing_;
  std::uint64_t reported_holds_ = 0;
  ByteCount reported_data_;  // that data objects used
  MonotonicTime reported_at_;
  std::optional<CoreFeed> feed_;
  std::optional<MonotonicTime> reclaimed_at_;
  boost::asio::steady_timer timer_;
};

}  // namespace orchid::executor
