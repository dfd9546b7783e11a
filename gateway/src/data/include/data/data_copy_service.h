// data/data_copy_service.h: copies of data objects: who is asked for which, for calls, for objects
// of which more copies are wanted, and for those whose executor is about to go.
#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calls/call_data.h"
#include "data/copy_plan.h"
#include "data/data_catalogue.h"
#include "data/data_copies.h"
#include "data/far_transfers.h"
#include "foundation/metrics_text.h"
#include "hosts/executor_messages.h"
#include "leases/broker_loop.h"
#include "placement/worker_request.h"

namespace orchid::gateway {

/// Belongs to the control thread, as all its functions do.
class DataCopyService {
 public:
  struct Parts {
    BrokerLoop& loop;
    const WorkerBroker& broker;
    ExecutorMessages& messages;
    std::function<void(const ExecutorId&, ControlMessage)> send;
    DataCatalogue& catalogue;
    FarTransfers* far = nullptr;  // whose transfers executors speak of, too
    /// Of a call: these stay while the answer lives.
    std::function<std::shared_ptr<const void>(const std::vector<DataId>&)> keep;
    /// What a call names, as long as it can be found. Errors: as CallDataFinder.
    std::function<Result<const DataObject*>(uid_t tenant, const DataReference& reference)> find;
  };
  /// Looking for objects that lack a copy.
  struct Work {
    std::size_t objects = 0;
    std::size_t places = 0;  // executors where one of these might go
  };
  struct Options {
    std::optional<uid_t> owner{};  // whose gateway this is; nothing: everybody's
    DataCopies::Options copies{};
    /// Of a place where a copy could not be made: it is not asked again for so long.
    std::chrono::milliseconds pause{10'000};
    /// It doubles each time up to this, and is forgotten when nothing has failed there for as long.
    std::chrono::milliseconds longest_pause{300'000};
    std::size_t waiting_calls = 256;  // that somebody waits for, with all that they were sent
    std::size_t waiting_calls_of_tenant = 16;
    std::chrono::milliseconds kept_for{60'000};  // a copy that has come, for whoever wanted it
    /// What was found for a call is the answer to the same question for so long, unless it changes.
    std::chrono::milliseconds recent_for{100};
    std::size_t recent = 256;
    /// At most so many objects, and places for them, are looked at in one go, however many there
    /// are: the control thread is everybody's. The next look goes on with the others.
    Work one_look{.objects = 1024, .places = 8192};
  };
  /// Everything in `parts` outlives the control thread.
  DataCopyService(Parts parts, Options options);

  using Done = std::function<void(Result<std::shared_ptr<const CallData>>)>;
  /// What a call is given, at the executor with most of the bytes of those that could give it such
  /// a worker; if no holder could, at another one. What that lacks is copied there: `waits_for` of
  /// the result says so.
  [[nodiscard]] Result<std::shared_ptr<const CallData>> for_call(
      uid_t tenant, std::string_view names, const placement::WorkerRequest& worker = {});
  /// The same when all is there. `timed_out`: not by the deadline; says what was waited for.
  /// `cancelled`: the client has gone.
  void gather(CallDataFinder::Wait wait, Done done);

  /// Both, for those who run calls.
  [[nodiscard]] CallDataFinder finder();

  /// So many copies of it are wanted from now on.
  void want(const DataObject& object, std::uint32_t copies);
  /// All that have it, or get it, but one.
  void tell_wish(const DataObject& object, const std::optional<ExecutorId>& besides);
  /// One is to be on this host; it is on its way then, or there. Errors: `not_found` (no such host
  /// that keeps data of the tenant), `unreachable`, and why the last attempt has just failed.
  [[nodiscard]] Result<void> copy_to(const DataObject& object, std::string_view host);

  /// The same at this executor.
  [[nodiscard]] Result<void> copy_to_executor(const DataObject& object, const Executor& executor);

  /// Surplus copies are to go there, the oldest first, for an object of that size which is among
  /// what the books have there. They do unless somebody uses them; the executor does this before
  /// what it is told next. False: there are not enough.
  bool make_room_at(const ExecutorId& executor, ByteCount bytes);

  /// The same for what the executor has no room for, and does not have in the books: named ones
  /// alone, since it evicts others by itself. Answered.
  void hear(const ExecutorId& executor, const SpareFor& question);

  /// True: it was about a copy, and nobody else's.
  bool hear(const ExecutorId& executor, const DataMade& message);
  bool hear(const ExecutorId& executor, const DataRefused& message);
  bool hear(const ExecutorId& executor, const DataSealed& message);
  /// It had to go there for want of room: no copy is wished for there again for a while.
  void evicted(const ExecutorId& executor, DataId data) {
    evicted_[{data, executor}] = parts_.loop.now() + options_.kept_for;
  }
  /// It has gone there.
  void spared(const ExecutorId& executor, DataId data) { spared_.erase({data, executor}); }
  /// It stays: others are asked for room there for a while.
  void stayed(const ExecutorId& executor, DataId data) {
    spared(executor, data);
    arrived_[{data, executor}] = parts_.loop.now() + options_.kept_for;
  }
  /// With a fresh stream: nothing that was said before is on its way.
  void executor_joined(const ExecutorId& executor);
  /// After the catalogue has changed, and several times a second.
  void tick(MonotonicTime now);
  /// That it has done so far.
  [[nodiscard]] const Work& work() const { return work_; }
  void add_metrics(MetricsText& text) const;

 private:
  using Objects = std::vector<const DataObject*>;
  /// A call that waits.
  struct Gathering {
    CallDataFinder::Wait wait{};
    std::vector<DataReference> ids{};
    std::shared_ptr<const void> keeper{};
    Done done{};
  };
  /// A copy that could not be made.
  struct Pause {
    MonotonicTime until{};
    std::chrono::milliseconds length{};
    Failure why{};
  };
  [[nodiscard]] Result<Objects> find_all(uid_t tenant,
                                         std::span<const DataReference> references) const;
  [[nodiscard]] std::optional<DataHolder> place_call(const Objects& objects,
                                                     const placement::WorkerRequest& worker,
                                                     std::optional<Failure>& failed);
  /// Executors that have some of a call's objects.
  struct CallHolders {
    std::set<ExecutorId> all;
    std::set<ExecutorId> unfit;  // could never give the call its worker
    std::set<ExecutorId> left;   // have no cores now, and others have
    std::set<ExecutorId> away;   // lost, or about to go
  };
  [[nodiscard]] CallHolders holders_for(const Objects& objects,
                                        const placement::WorkerRequest& worker) const;
  [[nodiscard]] bool could_run(const ExecutorId& executor, const LeaseTenant& tenant,
                               const placement::WorkerRequest& worker) const;
  [[nodiscard]] Failure no_cores_at(const std::set<ExecutorId>& holders,
                                    const std::optional<Failure>& why) const;
  [[nodiscard]] std::optional<DataHolder> on_their_way(
      const Objects& objects, const placement::WorkerRequest& worker) const;
  [[nodiscard]] std::optional<DataHolder> bring_elsewhere(const Objects& objects,
                                                          const placement::WorkerRequest& worker,
                                                          std::optional<Failure>& failed);
  [[nodiscard]] const Executor* receiver(const ExecutorId& id) const;
  [[nodiscard]] bool can_send(const ExecutorId& id) const;
  [[nodiscard]] bool is_surplus(const DataObject& object, const ExecutorId& executor,
                                MonotonicTime now) const;
  [[nodiscard]] std::set<DataId> awaited_by_calls() const;
  [[nodiscard]] Objects surplus_at(const ExecutorId& executor, MonotonicTime now) const;
  bool spare(const ExecutorId& executor, const Objects& surplus, std::uint64_t needed);
  [[nodiscard]] bool stays(const Executor& executor, const DataObject& object,
                           MonotonicTime now) const;
  [[nodiscard]] bool has_enough(const DataObject& object, MonotonicTime now) const;
  [[nodiscard]] std::vector<CopyPlace> places_for(const DataObject& object,
                                                  MonotonicTime now) const;
  [[nodiscard]] Result<void> bring(const DataHolder& to, const Objects& missing);
  [[nodiscard]] Result<void> begin(const DataObject& object, const DataHolder& to);
  [[nodiscard]] std::optional<Result<std::shared_ptr<const CallData>>> look_after(
      Gathering& gathering, MonotonicTime now);
  void look_after_gatherings(MonotonicTime now);
  [[nodiscard]] std::shared_ptr<const CallData> given(CallData data,
                                                      std::shared_ptr<const void> keeper);
  void forget_recent(MonotonicTime now);
  void look_after_objects(MonotonicTime now);
  [[nodiscard]] Objects on_leaving_executors(MonotonicTime now) const;
  bool make_up_for(const DataObject& object, MonotonicTime now, Work& left);
  void carry_out();
  void perform(const MakeCopyRoom& action);
  void perform(const OfferCopy& action);
  void perform(const FetchCopy& action);
  void perform(const EndTransfer& action);
  void perform(const SealCopy& action);
  void ended(const CopyEnded& copy);

  Parts parts_;
  Options options_;
  DataCopies copies_;
  std::list<Gathering> gatherings_;
  struct Recent {
    MonotonicTime until{};
    std::shared_ptr<const CallData> data{};
  };
  std::deque<Recent> recent_;  // the first found first
  std::map<std::pair<DataId, ExecutorId>, Pause> not_before_;
  using Copy = std::pair<DataId, ExecutorId>;
  std::set<Copy> spared_;                  // may be gone: not counted on until that is known
  std::map<Copy, MonotonicTime> arrived_;  // lately: somebody is about to use it, until then
  std::map<Copy, MonotonicTime> evicted_;  // not wished for again there until then
  std::set<Copy> made_room_for_;           // copies, once each
  MonotonicTime next_look_{};
  DataId looked_at_{};            // of all objects the last one
  std::size_t leaving_turn_ = 0;  // of those of leaving executors, likewise
  Work work_;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace orchid::gateway
