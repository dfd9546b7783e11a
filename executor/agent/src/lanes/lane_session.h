// lanes/lane_session.h: one client's claim on one worker: hands over the lane, loads code, watches
// the calls, replaces the worker. A gateway has several of them for one place, one for each module.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "channels/lane_channel.h"
#include "code/code_service.h"
#include "crews/crew_book.h"
#include "data/data_service.h"
#include "depots/depot_pool.h"
#include "devices/device_pool.h"
#include "foundation/sockets.h"
#include "lanes/failed_loads.h"
#include "lanes/module_fetches.h"
#include "lanes/replacement_brake.h"
#include "lanes/warm_workers.h"
#include "lanes/worker_gpu.h"
#include "leases/lease_table.h"
#include "protocol/lane_messages.h"
#include "workers/idle_memory.h"
#include "workers/worker_pool.h"

namespace orchid::executor {

/// What all sessions share; outlives them.
struct LaneServices {
  boost::asio::io_context& io;
  WorkerPool& workers;
  CodeService& code;
  LeaseTable& leases;
  DataService& data;
  const TickRate& rate;
  std::map<std::string, std::uint64_t>& counters;
  std::function<void(const LeaseClosed&)> lease_closed;
  /// Whether the kernel has ended a process of ours for want of memory since the last question;
  /// may be empty: it cannot tell.
  std::function<bool()> memory_ran_out = {};
  FailedLoads failed_loads = {};
  DevicePool* devices = nullptr;  // null: no GPU is offered
  DepotPool* depots = nullptr;    // null: calls make and open no data
  CrewBook* crews = nullptr;      // the lane server's
};

/// Owned by the agent's thread, through LaneServer.
class LaneSession : public std::enable_shared_from_this<LaneSession> {
 public:
  /// A call that has to end within this is not evicted.
  static constexpr std::chrono::milliseconds eviction_patience{50};
  /// So long a worker may publish what its call has made: longer than it waits for that.
  static constexpr std::chrono::seconds ending_patience{12};
  /// A worker makes way for one with another module. All of that together is well below what its
  /// client waits for (lane_client::replace_within): a call that runs on is that client's own
  /// doing; then the worker is asked to end, and says that it does; then it has ended.
  static constexpr std::chrono::seconds swap_patience{5};
  static constexpr std::chrono::seconds retire_patience{2};
  static constexpr std::chrono::seconds last_words_patience{1};
  /// How long a peer may take to claim a worker.
  static constexpr std::chrono::seconds claim_within{5};
  /// `uid`: of the client's process; nothing: it is on another host, and has proved that it knows
  /// the secret of some lease. `ended`: once, when the session is to be dropped.
  LaneSession(LaneServices& services, std::optional<uid_t> uid,
              std::function<void(LaneSession&)> ended);
  /// For the channel that `start` is given.
  [[nodiscard]] LaneChannel::Handlers handlers();
  void start(std::unique_ptr<LaneChannel> channel) { client_ = std::move(channel); }

  /// Looks at the running call: deadline, cancellation. Called every few milliseconds.
  void watch(MonotonicTime now);
  [[nodiscard]] const std::optional<LeaseId>& lease() const { return lease_; }
  [[nodiscard]] bool is_remote() const { return !uid_; }
  /// The id of its worker; nothing: it has none now.
  [[nodiscard]] std::optional<std::uint64_t> worker() const {
    return worker_ == nullptr ? std::nullopt : std::optional(worker_->id());
  }
  /// Which its worker is a member of; nothing: of none.
  [[nodiscard]] std::optional<LeaseId> crew() const {
    return lease_ && is_in_crew() ? std::optional(client_terms_->client_lease) : std::nullopt;
  }
  /// And some of its other members are at other executors.
  [[nodiscard]] bool crew_is_elsewhere() const { return is_spread(); }
  /// The lease is over: tells the client and ends.
  void revoke(const Failure& why);
  /// The worker's cores are taken back: it ends, with the call that it runs, unless that has to end
  /// at once anyway. The client hears `ended`, and then nothing more. `watch` asks again.
  void evict(MonotonicTime now);
  /// It shares a place of the gateway's: its worker runs the code of one module and no other.
  [[nodiscard]] bool is_apart() const { return apart_ && !client_terms_; }
  /// Of such a worker, for what it must share with others of its place; nothing: there is
  /// none now. Ends one that works while it has nothing to run.
  [[nodiscard]] std::optional<WarmWorker> look_at_sleep(MonotonicTime now);
  /// That all workers of its place may keep together.
  [[nodiscard]] ByteCount memory() const {
    return memory_.value != 0 ? memory_ : services_.workers.data_limit();
  }
  /// Its worker sleeps, and goes for the others of its place. The client hears `ended`, and then
  /// nothing more.
  void give_way();
  /// Its worker unmaps the object, if it has it, between two calls.
  void drop_data(const DataId& data);
  /// Its worker says that it runs, and so does another one of its place.
  void end_intruder();

  // Modules that a function has made, which its client knows nothing of: lane_made.cpp.
  /// Whether its worker may keep one more that was made, or has that module.
  [[nodiscard]] bool has_room_for(const std::string& digest) const;
  /// Its worker loads it between two calls.
  void load_made(const std::string& digest, const CodeService::Code& code);
  /// Its worker has made it, and links it by itself, in the place that is returned
  /// (pack_place). Nothing: there is no worker now.
  [[nodiscard]] std::optional<std::uint64_t> adopt_made(const std::string& digest,
                                                        const CodeService::Code& code);
  /// The bytes of a module that its client has loaded. Errors: `not_found`: it has not;
  /// `unsupported`: a function has made it; `timed_out`: they do not come.
  void fetch_module(const std::string& digest, ModuleFetches::Fetched fetched);
  /// Any module that its client can get, named as in LaneFetch. Errors: what the client says;
  /// `timed_out`: it says nothing.
  void look_up_module(const std::string& name, ModuleFetches::Fetched fetched);
  /// The member of its worker's crew, at another executor, where that data is: its client knows.
  /// `data`: a name or an id. Errors: `data_elsewhere`; what the client says; `timed_out`.
  void locate_data(const std::string& data, ClientQuestions<std::uint32_t>::Told told);
  /// Its client keeps what a call has made, for the crew's members at other executors. `content`:
  /// as in LaneMade. Errors: as above.
  void have_kept(const LaneMade& made, int content, ModuleFetches::Fetched kept);

 private:
  [[nodiscard]] bool takes_module(const std::string& digest);
  /// Its worker is a member of a crew.
  [[nodiscard]] bool is_in_crew() const { return client_terms_ && client_terms_->crew != 0; }
  [[nodiscard]] CrewBook::Member crew_member() const {
    return {.crew = client_terms_->client_lease, .lease = *lease_};
  }
  /// A client's lease of separate processes: another module gets another worker.
  [[nodiscard]] bool swaps() const { return client_terms_ && client_terms_->separate_processes; }
  void swap_worker(MonotonicTime now);
  void was_swapped(const LaneEnded& ended);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> time_left() const;
  void watch_ending(std::uint64_t number, MonotonicTime now);
  void watch_loads(MonotonicTime now, bool running);
  void watch_memory(MonotonicTime now);
  void tell_progress(MonotonicTime now);
  void from_client(Packet& packet);
  void claim(const LaneClaim& message);
  [[nodiscard]] bool take_data_message(const LaneMessage& message);
  void open_data(const LaneOpenData& message);
  void give_data(const LaneOpenData& message);
  void attach(const DataId& data);
  void attach_from_disk(const DataId& data);
  void bring_next_back();
  void map_data(const DataId& data);
  void not_attached(const DataId& data, const Failure& why);
  void take_worker();
  [[nodiscard]] DeviceOwner device_owner(const std::string& module) const;
  void took(std::shared_ptr<WorkerProcess> worker);
  void tell_terms();
  void load_again();
  void hand_over();
  // Of a crew: lane_crew.cpp.
  [[nodiscard]] Result<void> seat_in_crew(const LaneClaim& message);
  /// Some of its members are elsewhere.
  [[nodiscard]] bool is_spread() const { return !seating_.near.empty(); }
  void wire(const LaneWire& message);
  void wired();
  void worker_ended(const ChildEvent& event);
  void announce(const LaneAnnounce& message);
  void provide(const std::string& digest, UniqueFd module);
  void reject(const std::string& digest, const Failure& why);
  void refuse_more(const std::string& digest);
  [[nodiscard]] WorkerProcess::LoadDone when_made_loaded(const std::string& digest,
                                                         const CodeService::Code& code);
  [[nodiscard]] bool take_fetched(const std::string& digest, const UniqueFd& module);
  [[nodiscard]] bool take_module_message(const LaneMessage& message, Packet& packet);
  void looked_up(const LaneFetched& message, UniqueFd module);
  void located(const LaneLocated& message);
  void was_kept(const LaneKept& message);
  void improve_later(const std::string& digest);
  void tell_compiling(const std::string& digest);
  /// A module that is to be loaded, and how often that has been tried.
  struct ModuleLoad {
    std::string digest;
    ModuleCode code;
    std::optional<MonotonicTime> due;  // the deadline of the calls that wait for it
    unsigned attempt = 1;
  };
  [[nodiscard]] bool find_kernels(const std::string& digest);
  [[nodiscard]] CodeService::Done when_kernels_made(const std::string& digest);
  void kernels_made(const std::string& digest, const Result<CodeService::Code>& kernels);
  [[nodiscard]] bool is_abandoned(const std::string& digest);
  void code_made(const std::string& digest, const Result<CodeService::Code>& code);
  void not_made(const std::string& digest, const Failure& why);
  void load(const std::string& digest, const ModuleCode& code);
  void load(const ModuleLoad& module);
  void not_loaded(ModuleLoad module, const LoadFailure& failure);
  [[nodiscard]] const Failure* failed_before(const std::string& digest) const;
  [[nodiscard]] std::string failed_load_key(const std::string& digest) const;
  void load_kernels(const ModuleLoad& module, const WorkerSlot& slot,
                    std::chrono::microseconds link);
  void kernels_refused(const std::string& digest, const Failure& why);
  void loaded(const std::string& digest, const CodeService::Code& code, const WorkerSlot& slot,
              std::chrono::microseconds link);
  void send_slot(const std::string& digest, const WorkerSlot& slot, const CodeService::Code& code,
                 std::chrono::microseconds link);
  void send(const LaneMessage& message, const std::vector<int>& descriptors = {});
  void refuse(const Failure& failure);
  void end();

  LaneServices& services_;
  std::optional<uid_t> uid_;
  std::function<void(LaneSession&)> ended_;
  std::unique_ptr<LaneChannel> client_;
  MonotonicTime claim_by_;
  std::optional<LeaseId> lease_;
  bool opening_ = false;         // the connection is somebody's who opens data, and nothing else
  std::optional<DataId> reads_;  // the connection is a reader's of that object, and nothing else
  /// To be attached, and on disk: the first one is being read back, the others after it.
  std::deque<DataId> on_disk_;
  std::optional<ClientTerms> client_terms_;
  CrewBook::Seating seating_;     // of a member of a crew
  ByteCount memory_;              // of its worker
  std::uint32_t cores_ = 1;       // of its worker
  CoreList core_ids_;             // of the lease
  LeaseTenant tenant_;            // of the lease
  bool knows_compiling_ = false;  // the client: see LaneCompiling
  bool knows_progress_ = false;   // the client: see LaneProgress
  std::shared_ptr<WorkerProcess> worker_;
  std::optional<WorkerGpu> gpu_;  // the first one of the lease, if it has any
  MonotonicTime connected_by_;    // the client of another host, to that worker
  bool apart_ = false;
  std::string module_;                      // that one; "": none was announced yet
  bool has_code_ = false;                   // its worker was given code of that
  std::optional<MonotonicTime> swap_by_;    // it ends for another module, when its call has ended
  std::optional<MonotonicTime> retire_by_;  // it was asked to
  SleepWatch sleep_;
  struct {
    std::chrono::nanoseconds used{-1};
    ByteCount memory;
  } kept_;  // by its worker, when it had used so much processor time
  bool over_ = false;
  bool evicted_ = false;
  bool gave_way_ = false;
  /// Modules of its worker that functions have made, and its client has not asked for.
  std::set<std::string> made_;
  OpenQuestions asked_;
  std::optional<std::uint64_t> spared_;  // the call that may end; those behind it may not begin
  MonotonicTime evict_by_;               // that call, too
  std::uint64_t ending_ = ~std::uint64_t{0};  // the call that publishes what it has made, or did
  MonotonicTime ended_by_;                    // that call
  /// Requests that are to be cancelled, and when to kill: once the function has been asked to stop.
  std::map<std::uint64_t, std::optional<MonotonicTime>> cancellations_;
  std::optional<MonotonicTime> loading_since_;  // without an answer, and without a call
  std::uint64_t links_answered_ = 0;
  std::map<std::string, MonotonicTime> wanted_by_;  // modules that are announced, with a deadline
  /// For the next worker, before anything else: they failed in one where others had run.
  std::vector<ModuleLoad> retries_;
  MonotonicTime retries_since_;
  /// These were made by functions, or are loaded again, and the client has not asked for them
  /// since: it is not told unasked.
  std::set<std::string> unasked_;
  FailedLoads too_slow_;         // while other functions of this client waited
  MonotonicTime memory_looked_;  // of a running call: the kernel does not count all of it
  MonotonicTime threads_counted_;
  MonotonicTime progress_looked_;  // of a running call, for a client of another host
  LaneProgress progress_told_;
  IdleMemory idle_memory_;
  boost::asio::steady_timer replacement_timer_;
  ReplacementBrake brake_;
};

}  // namespace orchid::executor
