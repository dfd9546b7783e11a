// workers/worker_process.h: one worker as its agent sees it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "channels/packet_channel.h"
#include "children/child_watch.h"
#include "foundation/clock.h"
#include "foundation/tick_clock.h"
#include "foundation/unique_fd.h"
#include "protocol/compiler_messages.h"
#include "protocol/core_list.h"
#include "protocol/lane_messages.h"
#include "transport/crew_memory.h"
#include "transport/local_lane.h"
#include "worker/messages.h"
#include "worker/status_page.h"
#include "workers/link_work.h"
#include "workers/worker_data.h"

namespace orchid::executor {

/// The mapping of a worker's status page. Both ends write to it; nothing in it is believed.
class StatusPageMapping {
 public:
  [[nodiscard]] static Result<StatusPageMapping> create();
  StatusPageMapping(StatusPageMapping&& other) noexcept;
  StatusPageMapping& operator=(StatusPageMapping&& other) noexcept;
  StatusPageMapping(const StatusPageMapping&) = delete;
  StatusPageMapping& operator=(const StatusPageMapping&) = delete;
  ~StatusPageMapping();
  [[nodiscard]] StatusPage& page() const { return *page_; }
  [[nodiscard]] int descriptor() const { return file_.get(); }

 private:
  StatusPageMapping(UniqueFd file, StatusPage* page) : file_(std::move(file)), page_(page) {}
  UniqueFd file_;
  StatusPage* page_ = nullptr;
};

/// Why the agent itself ended a worker.
enum class KillReason {
  none,
  deadline,
  cancelled,
  released,
  unresponsive,
  stopped,
  no_client,       // nobody came to a worker that waits for a client of another host
  load,            // loading a module did not end
  threads,         // it has too many
  nonsense,        // it sent what no worker sends: user code did
  evicted,         // its cores were taken back
  gave_way,        // idle, for the memory that it kept
  restless,        // idle, and used processor time
  swapped,         // idle, for another module of its lease
  memory,          // it has more than its limit, which the kernel did not see
  together,        // it ran beside another worker of its place
  device_crashed,  // its kernels have ended the GPU's process
  device_lost,     // the GPU, or its process, is gone for another reason
  crew,            // another member of its crew has ended
};

/// For the last answers of a worker that says that it ends; by itself it takes no longer.
constexpr std::chrono::seconds last_answer_patience{10};

/// What a client is told of a worker that was swapped.
constexpr std::string_view made_way = "the worker made way for one with another module";
/// Whether such ends are counted by their reason, and not by what became of a call.
[[nodiscard]] bool has_own_counter(KillReason reason);

/// A module as this worker has it.
struct WorkerSlot {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::vector<std::string> entries;
  std::uint64_t last_use = 0;
  CompileTier tier = CompileTier::o3;
  bool kept = false;  // as LoadRequest says
};

/// Why a module is not loaded, and what that is due to.
struct LoadFailure {
  enum class Blame {
    module,    // it failed in a worker that had run nothing else: it will fail again
    worker,    // others had run there before, or it went for a reason of its own: try a fresh one
    deadline,  // it had no more time
    others,    // others wait for the worker, and it took too long
  };
  Blame blame = Blame::worker;
  Failure why;
};
/// Which limit a load has reached.
enum class LoadLimit { standard, deadline, others };

/// Owned by the agent's thread.
class WorkerProcess {
 public:
  using LoadDone =
      std::function<void(std::expected<WorkerSlot, LoadFailure>, std::chrono::microseconds link)>;
  /// `data_limit`: what it is born with.
  WorkerProcess(std::uint64_t id, StatusPageMapping page, transport::LaneDescriptors lane,
                ByteCount data_limit);
  /// A worker that can use a GPU has a second lane, to its device process. Before it is born.
  void set_device_lane(transport::LaneDescriptors lane) { device_lane_ = std::move(lane); }
  /// Without memory: it has none.
  [[nodiscard]] const transport::LaneDescriptors& device_lane() const { return device_lane_; }
  /// A member of a crew. Before it is born.
  struct CrewSeat {
    CrewPlace place;
    std::shared_ptr<const transport::CrewWires> wires;  // shared by the crew's members
  };
  void set_crew_seat(CrewSeat seat) { crew_seat_ = std::move(seat); }
  [[nodiscard]] const std::optional<CrewSeat>& crew_seat() const { return crew_seat_; }
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const transport::LaneDescriptors& lane() const { return lane_; }
  [[nodiscard]] StatusPage& page() const { return page_.page(); }
  [[nodiscard]] int page_descriptor() const { return page_.descriptor(); }

  /// How a client of another host reaches it; of workers that were born for one.
  struct RemoteLane {
    std::uint16_t port = 0;
    std::string key;  // 32 hexadecimal digits
    bool trusted_fabric = false;
  };
  [[nodiscard]] const RemoteLane& remote_lane() const { return remote_lane_; }
  void set_remote_lane(RemoteLane lane) { remote_lane_ = std::move(lane); }
  /// The worker says that its client is there. True the first time, and only for one that waited.
  [[nodiscard]] bool client_connected() {
    const bool awaited = awaits_client();
    client_connected_ = true;
    return awaited;
  }
  /// Of a member of a crew: is called when its peers are there.
  void on_connected(std::function<void()> connected) { connected_ = std::move(connected); }
  void tell_connected() {
    if (connected_) connected_();
  }
  [[nodiscard]] bool awaits_client() const { return remote_lane_.port != 0 && !client_connected_; }

  void born(pid_t pid, UniqueFd pidfd, std::unique_ptr<PacketChannel> control);
  /// The depot's end of its service socket, until the worker has a tenant.
  void set_service(UniqueFd socket) { service_ = std::move(socket); }
  [[nodiscard]] UniqueFd take_service() { return std::move(service_); }
  /// False: it does not hear of it, as it has ended or lets too much pile up.
  bool tell(const WorkerMessage& message, const std::vector<int>& descriptors = {});

  [[nodiscard]] const WorkerSlot* find_slot(const std::string& digest);
  /// Asks the worker to link `code`; `done` follows with its slot, or why not.
  /// `due`: the deadline of the calls that wait for it, if any do.
  struct LoadRequest {
    std::string digest;
    int code = -1;
    CompileTier tier = CompileTier::o3;
    std::optional<MonotonicTime> due;
    bool on_gpu = false;  // its kernels run on the worker's GPU
    /// It is not dropped for another one: a function has made it, and calls of it come from
    /// anywhere. Who asks looks whether there is room.
    bool kept = false;
  };
  void load(const LoadRequest& request, LoadDone done);
  /// The worker links that by itself, in a place that it is told of, and says so as if it had been
  /// asked: `done` follows. If it has the module, the place is that one; and if it has been asked,
  /// and has not come to it, likewise, and who asked is told. But the place of a module that was
  /// dropped for it is not free before the worker's call has ended: then it is another one.
  struct Place {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
  };
  [[nodiscard]] Place expect(const LoadRequest& request, LoadDone done);
  /// `expect` gives a place of its own, and `done` follows.
  [[nodiscard]] bool expects_anew(const std::string& digest) const {
    return !slots_.contains(digest) && find_load(digest) == nullptr;
  }
  /// From now on it is not dropped for another one. False: it neither has nor loads it.
  bool keep(const std::string& digest);
  /// It keeps that module, or may keep one more.
  [[nodiscard]] bool has_room_for(const std::string& digest) const {
    return keeps(digest) || count(true) < modules_per_worker;
  }
  /// Hands it the best code of a module that it has as quick code, if it has; it takes it between
  /// two calls, under the same slot and generation.
  void improve(const std::string& digest, int code);
  /// False: it is no answer to something that was asked for.
  [[nodiscard]] bool take_answer(const WorkerMessage& message);
  [[nodiscard]] bool is_loading() const { return !loads_.empty(); }
  [[nodiscard]] bool is_loading(const std::string& digest) const;
  /// It has something to load, to map or to unmap.
  [[nodiscard]] bool is_linking() const { return is_loading() || data_.waits(); }
  /// The limit that the load which the worker is at has reached, if it began at `since`; nothing:
  /// it may go on. Data that it is to map or unmap is such a load, too.
  [[nodiscard]] std::optional<LoadLimit> load_limit(MonotonicTime since, MonotonicTime now) const;
  /// Ends the worker for it.
  void end_load(LoadLimit limit);
  /// Loads, better code that it takes over, data that it maps and unmaps, and answers. Those to a
  /// client of another host it sends while it is idle; nobody but the worker knows whether it is at
  /// that.
  [[nodiscard]] LinkWork link_work() const {
    return {.waits = is_loading() || !improvements_.empty() || data_.waits() || said_last_words() ||
                     remote_lane_.port != 0,
            .done = loads_answered_ + improvements_answered_ + data_.answers()};
  }
  /// Of loads and of data.
  [[nodiscard]] std::uint64_t links_answered() const { return loads_answered_ + data_.answers(); }
  /// The process has ended so; `why` for people.
  void fail_loads(const ChildEvent& event, const std::string& why);
  /// The control socket is at its end: the process has ended, or user code says so.
  void control_closed();

  /// True: it has the object mapped, or is about to, and `done` is told of that.
  [[nodiscard]] bool has_data(const DataId& data, const WorkerData::Done& done) {
    return data_.join(data, done);
  }
  /// It is to map an object that it does not have. `gone`: once, when it is rid of it.
  struct MapRequest {
    DataId data;
    int file = -1;
    ByteCount bytes;
  };
  void map_data(const MapRequest& request, const WorkerData::Done& done,
                const WorkerData::Gone& gone);
  /// It was given the object before, in whatever way.
  [[nodiscard]] bool knows_data(const DataId& data) { return data_.knows(data); }
  /// It was given the object within a call, and maps it by itself. `gone`: as above.
  void adopt_data(const DataId& data, ByteCount bytes, MonotonicTime now,
                  const WorkerData::Gone& gone);
  /// A call has asked for what it was given before.
  void use_data(const DataId& data, MonotonicTime now) { data_.use(data, now); }
  /// So long it keeps what a call has opened and no other call opens.
  static constexpr std::chrono::seconds keeps_opened{30};
  /// It maps a room within a call, or has it no more: what it may map changes by so much.
  void give_addresses(ByteCount bytes) {
    move_address_limit(static_cast<std::int64_t>(bytes.value));
  }
  void take_addresses(ByteCount bytes) {
    if (!ended_) move_address_limit(-static_cast<std::int64_t>(bytes.value));
  }
  /// Between two calls.
  void unmap_data(const DataId& data);
  /// Tells it what it is to unmap and could not be told yet. False: some are left.
  bool tell_unmaps();
  /// The same, and what its calls have not opened for long.
  void tell_unmaps(MonotonicTime now) {
    data_.drop_opened_before(now - keeps_opened);
    tell_unmaps();
  }
  /// The process has ended, and its number may be another's by now.
  void lose_data() {
    ended_ = true;
    data_.lose();
  }

  /// From now on it may have so much memory, beside what itself and its lane need.
  void limit_memory(ByteCount data);
  [[nodiscard]] ByteCount data_limit() const { return data_limit_; }
  /// From now on it runs on these cores of this machine, with all its threads, and nowhere else.
  void bind_to(const CoreList& cores);
  /// Empty: it may run wherever the executor may.
  [[nodiscard]] const CoreList& bound_to() const { return bound_to_; }
  /// If call `number` still runs: claims its outcome for the agent and kills. False: the call was
  /// faster. `words`: what the caller is told instead of the usual; empty: that.
  bool kill_if_running(std::uint64_t number, KillReason reason, std::string words = {});
  void kill(KillReason reason);
  /// It says that it ends, which takes a while where much memory is given back.
  [[nodiscard]] bool said_last_words() const {
    return page().last_words.load() != static_cast<std::uint32_t>(LastWords::none);
  }
  /// For one that could not load something: it ends by itself and is to say so until `by`, and
  /// sends its last answers then. What others say of their end is no reason to wait for it.
  [[nodiscard]] bool has_time_to_end(MonotonicTime by, MonotonicTime now) const {
    return now < by + (load_failed_ && said_last_words() ? last_answer_patience
                                                         : std::chrono::seconds(0));
  }
  [[nodiscard]] bool has_ended() const;  // though nobody may have heard of it yet
  /// Kills one that says it ends, and works instead. That is its own doing.
  void hurry() {
    hurried_ = true;
    make_sure_of_its_end();
  }
  /// Kills what should have ended by itself. What it has said of its end counts.
  void make_sure_of_its_end();
  [[nodiscard]] KillReason kill_reason() const { return kill_reason_; }
  /// That its calls may use; 1 until a lease says otherwise.
  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  void set_cores(std::uint32_t cores) { cores_ = cores; }
  /// Stops all its threads until it may go on. Who else stops it meanwhile is not noticed.
  void hold();
  void go_on();
  [[nodiscard]] bool held() const { return held_; }
  /// Digest of the module whose slot it is; null: of none that it has. Valid until the next load.
  [[nodiscard]] const std::string* module_at(std::uint32_t slot) const;
  /// As the kernel counts them now; 0 when it does not say.
  [[nodiscard]] unsigned thread_count() const;
  /// Resident, of its own, as the kernel counts it now.
  [[nodiscard]] ByteCount own_memory() const;
  /// Of its lanes, which both ends write to: what their files keep now.
  [[nodiscard]] ByteCount lane_memory() const;
  /// That all its threads have used; nothing when the kernel does not say.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> processor_time() const;

  /// How far call `request` says that it is, of `whole_progress`; nothing: it does not say.
  [[nodiscard]] std::optional<std::uint64_t> progress_of(std::uint64_t request) const;
  /// What call `request` has printed, as the worker left it: at most `ended_log_bytes`.
  [[nodiscard]] RunningLog log_of(std::uint64_t request) const;
  /// What the client is told when the process has ended.
  [[nodiscard]] LaneEnded epitaph(const ChildEvent& event) const;

 private:
  struct PendingLoad {
    std::string digest;
    CompileTier tier;
    std::uint32_t slot;
    std::uint32_t generation;
    bool first;
    std::optional<MonotonicTime> due;
    bool kept;
    bool replaces;  // its slot was another module's, which the worker may still have there
    LoadDone done;
  };
  [[nodiscard]] LoadFailure failure_of(const PendingLoad& load, const ChildEvent& event,
                                       const std::string& why) const;
  void move_address_limit(std::int64_t bytes);
  [[nodiscard]] bool answer_load(const WorkerMessage& message);
  struct Choice {
    std::uint32_t slot = 0;
    bool replaces = false;  // as PendingLoad says
  };
  [[nodiscard]] Choice choose_slot(bool kept);
  [[nodiscard]] Place add_load(const LoadRequest& request, LoadDone done);
  /// Whose place may be given away; null: there is none.
  [[nodiscard]] const PendingLoad* find_load(const std::string& digest) const;
  [[nodiscard]] bool keeps(const std::string& digest) const;
  /// Modules that it has or loads, and keeps, or does not.
  [[nodiscard]] std::size_t count(bool kept) const;
  [[nodiscard]] std::string last_place() const;
  [[nodiscard]] std::string describe_signal(int number) const;
  void explain_end(LaneEnded& ended, const ChildEvent& event) const;
  void explain_refusal(LaneEnded& ended) const;
  [[nodiscard]] bool left_a_call() const;
  [[nodiscard]] const transport::LaneMemory* lane_view() const;
  [[nodiscard]] bool was_taken_unawares() const;
  [[nodiscard]] std::string end_of_idle_member(LastWords words, const ChildEvent& event) const;
  [[nodiscard]] bool was_killed_from_outside(const ChildEvent& event) const;

  std::uint64_t id_;
  StatusPageMapping page_;
  transport::LaneDescriptors lane_;
  transport::LaneDescriptors device_lane_;
  std::optional<CrewSeat> crew_seat_;
  /// Once somebody has asked what is in the lane, and then for the worker's life: of a call from
  /// another host that is asked every 50 ms. It takes addresses, and the pages that are read.
  mutable std::optional<transport::LaneMemory> lane_view_;
  ByteCount data_limit_;
  RemoteLane remote_lane_;
  bool client_connected_ = false;
  std::function<void()> connected_;
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  bool held_ = false;
  std::uint32_t cores_ = 1;
  CoreList bound_to_;
  std::unique_ptr<PacketChannel> control_;
  UniqueFd service_;
  std::unordered_map<std::string, WorkerSlot> slots_;  // by digest
  std::map<std::uint32_t, PendingLoad> loads_;         // by generation: the worker is at the first
  LoadLimit load_limit_ = LoadLimit::standard;         // with KillReason::load
  /// Unanswered: digest, by slot. Also of modules that are unloaded by now: the worker may have
  /// answered before it heard of that.
  std::multimap<std::uint32_t, std::string> improvements_;
  std::uint32_t next_slot_ = 0;
  std::vector<std::uint32_t> free_slots_;  // of loads that failed
  std::uint32_t next_generation_ = 1;
  std::uint64_t uses_ = 0;
  std::uint64_t loads_answered_ = 0;
  std::uint64_t improvements_answered_ = 0;
  WorkerData data_;
  bool ended_ = false;
  KillReason kill_reason_ = KillReason::none;
  std::string kill_words_;
  bool load_failed_ = false;  // it said so
  bool hurried_ = false;      // the agent has killed it, though it has no reason to tell
};

}  // namespace orchid::executor
