// data/data_service.h: the catalogue on the control thread, and its conversation with the executors
// that keep the bytes (docs/PROTOCOL.md §2, "Data"). The bytes themselves never come here.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calls/call.h"
#include "data/data_catalogue.h"
#include "data/data_copy_service.h"
#include "data/data_digests.h"
#include "data/data_filing.h"
#include "data/data_removals.h"
#include "data/far_transfers.h"
#include "foundation/metrics_text.h"
#include "hosts/executor_messages.h"
#include "leases/broker_loop.h"

namespace orchid::gateway {

/// An object, and where its bytes, or its room, are reached.
struct ReachableData {
  DataObject object;
  std::filesystem::path lane_socket;  // of a holder on this host; empty: it was not asked for
  std::optional<ExecutorId> far{};    // instead: a holder on another host
};

/// Belongs to the control thread, as all its functions do.
class DataService final : private ActionPerformer {
 public:
  struct Parts {
    BrokerLoop& loop;
    const WorkerBroker& broker;
    ExecutorMessages& messages;
    std::function<void(const ExecutorId&, ControlMessage)> send;
    StartFarEnd start_far_end{};  // empty: data is made and read on this host only
  };
  struct Options {
    DataCatalogue::Limits limits{};
    std::chrono::milliseconds unnamed_for{3'600'000};  // they live, where nobody says how long
    std::optional<uid_t> owner{};  // whose gateway this is; nothing: everybody's
    /// After the start; until then who is not there yet may come back with data.
    std::chrono::milliseconds executors_back_within{0};
    std::chrono::milliseconds answer_within{5'000};  // of an executor; a seal has longer
    std::uint64_t epoch = 1;                         // counts the starts on the state directory
    /// What a tenant has in leased memory, which counts towards the same limit; empty: nothing.
    std::function<ByteCount(uid_t tenant)> leased{};
  };
  /// Everything in `parts` outlives the control thread.
  DataService(Parts parts, Options options);
  /// When executors can be heard from now on.
  void start() { executors_back_ = parts_.loop.now() + options_.executors_back_within; }

  struct NewData {
    LeaseTenant tenant{};
    ByteCount bytes{};
    std::string name{};                                     // empty: it has none
    std::optional<std::chrono::milliseconds> expires_in{};  // nothing: as the site says
    std::uint32_t copies = 1;                               // at least
    bool durable = false;                                   // as a file, too
    Precondition precondition{};
    bool is_here = false;  // on this host only
  };
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  /// Room for an object on an executor of this host, or else of another one. Who has it calls
  /// `seal` or `abandon`. Errors: `conflict`, `quota`, `no_data_memory`, `unreachable` (also: of a
  /// name, until the executors can be back), `unsupported` (nobody keeps files), `disk_full`.
  void make(NewData wanted, Done<ReachableData> done);
  /// `gone` is called, once, when the room is given up before it is to be sealed or abandoned: at
  /// once, if that has happened already.
  void watch(DataId room, std::function<void()> gone);
  /// All bytes are written. Of one name one object is sealed at a time. Errors: `conflict`,
  /// `not_found` (the room is gone); `unreachable`: nobody has said that it is sealed, and it most
  /// likely is dropped.
  void seal(DataId room, Done<ReachableData> done);
  /// Nothing when it is no room any more.
  void abandon(DataId room);
  /// Whether a program of that user may have it sealed or given up. Errors: `not_found`;
  /// `conflict`: it is being sealed.
  [[nodiscard]] Result<void> check_room(uid_t tenant, DataId room) const;

  /// On this host, if it is here, and else on another one. Errors: `not_found`, `data_lost`;
  /// `unreachable`: its executor may still come back, or cannot send data to this gateway.
  [[nodiscard]] Result<ReachableData> find(uid_t tenant, const DataReference& reference) const;
  [[nodiscard]] Result<DataObject> describe(uid_t tenant, const DataReference& reference) const;
  [[nodiscard]] std::vector<DataObject> list(uid_t tenant) const;
  /// The same as `describe`, with its digest. Errors: as of that, and of `DataDigests::ask`.
  void digest(uid_t tenant, const DataReference& reference, Done<DataObject> done);
  /// It is kept as a file, and lives so long at least. Errors: as of `describe`, and of
  /// `DataFiling::ask`.
  void keep_as_file(uid_t tenant, const DataReference& reference,
                    std::optional<std::chrono::milliseconds> expires_in, Done<DataObject> done);
  /// It is not found from now on, and `done` is called when what is connected has no file of it.
  /// Errors: `not_found`, `conflict`; `unreachable`: a holder's connection has broken, and nothing
  /// is removed, or as of `DataRemovals`.
  void remove(uid_t tenant, const DataReference& reference, const Precondition& precondition,
              Done<void> done);
  /// Copies, and what calls are given.
  [[nodiscard]] DataCopyService& copies() { return copies_; }
  /// Bodies to and from other hosts.
  [[nodiscard]] FarTransfers& far() { return far_; }
  /// They are there, or on their way. Errors: `not_found`, `data_lost`, and as of
  /// `DataCopyService::copy_to`.
  [[nodiscard]] Result<DataObject> copy(uid_t tenant, const DataReference& reference,
                                        const WantedCopies& wanted);

  /// Before the broker learns of it.
  void executor_joined(const Executor& executor, std::span<const DataHeld> held);
  void add_metrics(MetricsText& text) const;
  /// Rooms included.
  [[nodiscard]] ByteCount used_by(uid_t tenant) const { return catalogue_.used_by(tenant); }

 private:
  struct Making {
    std::set<ExecutorId> asked{};
    std::set<ExecutorId> made_room{};  // where surplus copies were told to go
    std::optional<Failure> refused{};  // by the last one
    MonotonicTime due{};
    Done<ReachableData> done{};
    bool is_here = false;
  };
  struct Sealing {
    std::uint64_t number = 0;  // in the order in which it was wanted
    bool is_asked = false;     // of the executor; else another one of the name is before it
    MonotonicTime due{};
    Done<ReachableData> done{};
  };
  [[nodiscard]] bool perform(const BrokerAction& action) override {
    if (std::holds_alternative<TellExecutorAnswers>(action)) catalogue_.holders_changed();
    return false;
  }
  void tick(MonotonicTime now) override;
  void ask_next(DataId room);
  [[nodiscard]] const Executor* keeper_for(const DataObject& object, const Making& making) const;
  [[nodiscard]] ReachableData reachable(const DataObject& object, const Executor& executor) const;
  [[nodiscard]] bool is_on_this_host(const Executor& executor) const;
  [[nodiscard]] bool could_be_sent(const DataObject& object) const;
  [[nodiscard]] Failure no_keeper(const DataObject& object) const;
  [[nodiscard]] Result<const DataObject*> lookup(uid_t tenant,
                                                 const DataReference& reference) const;
  [[nodiscard]] bool all_silent(const DataObject& object) const;
  [[nodiscard]] bool is_waited_for(const Executor& executor) const;
  [[nodiscard]] const DataHolder* waited_for(const DataObject& object) const;
  void drop(const DataDrops& drops);
  [[nodiscard]] Result<std::set<DataId>> files_to_remove(uid_t tenant,
                                                         const DataReference& reference) const;
  [[nodiscard]] bool is_connected(const ExecutorId& executor) const;
  void tell_wishes(const Executor& executor, std::span<const DataHeld> held,
                   const std::map<DataId, std::uint32_t>& before);
  [[nodiscard]] std::shared_ptr<const void> keeper_of(const std::vector<DataId>& ids);
  void ask_to_seal(DataId id);
  void ask_to_seal_waiting();
  [[nodiscard]] MonotonicTime time_of_seal(const DataObject& object) const;
  void put_off_seals(const DataObject& by);
  void give_up_late(MonotonicTime now);
  void give_up_seals(MonotonicTime now);
  void refuse_seal(DataId id, Failure why);
  void hear(const ExecutorId& executor, const DataMade& message);
  void hear(const ExecutorId& executor, const DataRefused& message);
  void hear(const ExecutorId& executor, const DataSealed& message);
  void hear(const ExecutorId& executor, const DataDropped& message);
  void hear(const ExecutorId& executor, const DataKept& message);
  void hear(const ExecutorId& executor, const FindData& question);
  void hear(const ExecutorId& executor, const PublishData& offer);
  [[nodiscard]] Result<void> check_offer(const ExecutorId& executor,
                                         const PublishData& offer) const;
  [[nodiscard]] Result<void> take_offer(const ExecutorId& executor, const PublishData& offer);
  void publish_offer(const ExecutorId& executor, const PublishData& offer);
  /// Of a call; it waits while something of one of its names is sealed under a condition.
  struct WaitingOffer {
    ExecutorId executor;
    PublishData offer;
    MonotonicTime due{};
  };
  [[nodiscard]] bool has_to_wait(const PublishData& offer) const;
  void answer(const ExecutorId& executor, const PublishData& offer);
  void hear_waiting_offers();
  void forget_offers_of(const ExecutorId& executor);

  Parts parts_;
  Options options_;
  MonotonicTime executors_back_ = MonotonicTime::max();  // not before the start
  DataCatalogue catalogue_;
  FarTransfers far_;
  DataCopyService copies_;
  DataDigests digests_;
  DataFiling filing_;
  DataRemovals removals_;
  std::map<DataId, Making> making_;
  std::map<DataId, std::function<void()>> writing_;  // what to do when the room goes
  std::map<DataId, Sealing> sealing_;
  std::uint64_t next_sealing_ = 0;
  std::vector<WaitingOffer> waiting_offers_;  // the first come first
  std::uint64_t made_ = 0;
  std::uint64_t abandoned_ = 0;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell calls that end whether we are still here
};

}  // namespace orchid::gateway
