// data/data_catalogue.h: which data objects there are: names and versions, who has a copy, how long
// they live, how much each tenant has. Plain data: no socket, no thread; time is passed in.
//
//   make_room ─► room ─begin_to_seal, publish─► sealed ──── its last copy goes ────► lost ─►
//   forgotten
//                 └─ abandon ─►    └─ removed, expired, too many versions ─►
//
//   begin_copy ─► arriving ─finish_copy─► one more holder
//                    └─ give_up_copy, or the object goes ─►
// Of a copy that may be whole already (`count_on_copy`) the object lives on when its last holder
// goes, until it is known whether it is.
//
// An executor is the authority for what it has. What is removed here is a drop that it is to be
// told of, and is told again until it says that it has done it.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/data_object.h"
#include "data/data_reference.h"
#include "foundation/result.h"
#include "http/precondition.h"
#include "protocol/data_messages.h"

namespace orchid::gateway {

/// An executor is to drop its copy, or its room.
struct DataDrop {
  ExecutorId executor;
  DataId data;
};
using DataDrops = std::vector<DataDrop>;

/// Owned by the control thread.
class DataCatalogue {
 public:
  struct Limits {
    std::size_t versions = 3;  // of a name, that are kept; at least 1
    ByteCount per_tenant{};    // rooms included; 0: no limit
    std::size_t lost = 1024;   // of a tenant, that are remembered
    /// Of a tenant's that were removed, and that executors may have which are taken for gone, or
    /// have not come since this gateway began: how many are remembered, so that one that comes
    /// with them is told to drop them.
    std::size_t removed_away = 16'384;
    /// So long lives one that has lost its name to a newer object with the same number.
    std::chrono::milliseconds nameless_for{3'600'000};
  };
  /// `epoch`: larger with each start of the gateway on its state directory.
  explicit DataCatalogue(Limits limits, std::uint64_t epoch = 1);

  struct NewObject {
    DataId id{};
    LeaseTenant tenant{};
    ByteCount bytes{};
    std::string name{};  // empty: it has none
    std::string secret{};
    std::optional<std::chrono::milliseconds> expires_in{};
    std::uint32_t copies = 1;
    bool durable = false;
    Precondition precondition{};  // of the name; looked at now and when it is to be sealed
  };
  /// It has its number among the versions of its name from now on. Errors: `conflict`, `quota`.
  [[nodiscard]] Result<const DataObject*> make_room(NewObject wanted, MonotonicTime now);
  /// Where it is written.
  void put_room(DataId id, DataHolder holder);
  /// It will not be written. Nothing when there is no such room.
  [[nodiscard]] DataDrops abandon(DataId id);
  /// All its bytes are written, and its executor is to be told to seal it. From then on it exists,
  /// whether or not anybody is left to hear of it; so this is where its precondition is looked at,
  /// and that holds until it is published or abandoned: nothing else of its name is sealed
  /// meanwhile. False: another one is; ask again when that is over. Errors: `conflict` (the
  /// precondition holds no more; its room goes into `drops`), `not_found` (there is no such room).
  [[nodiscard]] Result<bool> begin_to_seal(DataId id, DataDrops& drops);
  /// Its executor has sealed it, as it was to: it is there for everybody who may see it, and the
  /// oldest versions beyond the limit go into `drops`. Errors: `not_found`.
  [[nodiscard]] Result<const DataObject*> publish(DataId id, DataDrops& drops, MonotonicTime now);
  /// The same of a room without a precondition that was sealed before anybody asked, when nothing
  /// of its name is being sealed: it is the newest version. Its executor has yet to confirm that it
  /// keeps it: until then no older version goes for it, and it vanishes with its copy there.
  const DataObject& publish_unconfirmed(DataId id, MonotonicTime now);
  /// That executor does. The oldest versions beyond the limit go into `drops`. False: nobody waits
  /// for that.
  bool confirm(DataId id, const ExecutorId& executor, DataDrops& drops);
  /// Something of that name is being sealed.
  [[nodiscard]] bool is_sealing(uid_t tenant, const std::string& name) const;

  /// A copy of a sealed object is to be written there; the room for it is charged from now on.
  /// Errors, nothing changed: `not_found` (no such object any more, or it is lost), `conflict` (it
  /// has one, gets one already, or has yet to drop one).
  [[nodiscard]] Result<void> begin_copy(DataId id, DataHolder holder);
  /// All bytes of the copy that is being written there may have come. Nothing when there is none.
  void count_on_copy(DataId id, const ExecutorId& executor);
  /// They have not; an object without a holder is lost then.
  void do_not_count_on_copy(DataId id, const ExecutorId& executor);
  /// It is sealed there. False: nobody waits for it there any more.
  bool finish_copy(DataId id, const ExecutorId& executor);
  /// It will not be written. Nothing when there is none on its way.
  [[nodiscard]] DataDrops give_up_copy(DataId id, const ExecutorId& executor);
  /// False: there is no such sealed object.
  bool want_copies(DataId id, std::uint32_t copies);

  /// A holder has it as a file from now on. It lives so long from now, if that is longer. Null: it
  /// is no sealed object.
  const DataObject* keep_file(DataId id, std::optional<std::chrono::milliseconds> expires_in,
                              MonotonicTime now);

  /// A holder says that it has this digest. Null: it is no sealed object.
  const DataObject* keep_digest(DataId id, const std::string& digest);

  /// Of this tenant alone. Errors: `not_found`, `data_lost`.
  [[nodiscard]] Result<const DataObject*> find(uid_t tenant, const DataReference& reference,
                                               MonotonicTime now) const;
  /// A call is given it, which was found: too many versions are no reason for it to go. Once for
  /// each `use`: `release`; the versions that are too many then go into `drops`.
  void use(DataId id);
  void release(DataId id, DataDrops& drops);
  /// Of a name without a version all versions. Errors: `not_found`, `conflict` (also: a version is
  /// being sealed whose precondition is about what is there).
  [[nodiscard]] Result<DataDrops> remove(uid_t tenant, const DataReference& reference,
                                         const Precondition& precondition, MonotonicTime now);
  /// Sealed and lost ones, by name and version, then those without a name.
  [[nodiscard]] std::vector<const DataObject*> of_tenant(uid_t tenant) const;

  /// With a fresh stream: it has these, and nothing else. Objects of others than `only_tenant` are
  /// not believed, if that is given.
  [[nodiscard]] DataDrops executor_joined(const DataHolder& holder, std::span<const DataHeld> held,
                                          std::optional<uid_t> only_tenant, MonotonicTime now);
  /// Its process is gone, and all that it had.
  void executor_gone(const ExecutorId& executor);
  /// Copies that were on their way when the last copy of their object went.
  [[nodiscard]] DataDrops take_orphans() { return std::exchange(orphans_, {}); }
  /// It says that it has dropped something.
  void dropped(const ExecutorId& executor, DataId id, DataEnd reason);
  /// Those whose time is over.
  [[nodiscard]] DataDrops expire(MonotonicTime now);

  /// Grows when an object comes, goes, is lost or found again, or has another holder, or when
  /// `holders_changed` says so. Any thread.
  [[nodiscard]] const std::atomic<std::uint64_t>& changes() const { return *changes_; }
  /// Executors that have objects are to be reached, or not any more.
  void holders_changed() { ++*changes_; }
  /// In whatever state.
  [[nodiscard]] bool knows(DataId id) const { return objects_.contains(id); }
  /// A room, or nothing.
  [[nodiscard]] const DataObject* room(DataId id) const;
  /// One that is not lost, or nothing.
  [[nodiscard]] const DataObject* sealed(DataId id) const;
  /// Of these at most so many that follow that id, and behind the last one from the first on; none
  /// twice.
  [[nodiscard]] std::vector<const DataObject*> sealed_after(DataId id, std::size_t most) const;
  /// Those of which a copy is there, or is being written there.
  [[nodiscard]] std::vector<const DataObject*> sealed_at(const ExecutorId& executor) const;
  /// A copy is being written there.
  [[nodiscard]] bool is_arriving(DataId id, const ExecutorId& executor) const;
  /// A copy, also one that is being written, or a room.
  [[nodiscard]] bool has(const ExecutorId& executor, DataId id) const;
  /// Rooms and copies there, also those that are being written; of all, or of that tenant.
  [[nodiscard]] ByteCount used_at(const ExecutorId& executor) const;
  [[nodiscard]] ByteCount used_at(const ExecutorId& executor, uid_t tenant) const;
  /// What a tenant has besides objects that counts towards `Limits::per_tenant`.
  void count_besides(std::function<ByteCount(uid_t tenant)> has) { has_besides_ = std::move(has); }
  [[nodiscard]] ByteCount used_by(uid_t tenant) const;
  [[nodiscard]] std::size_t count(DataState state) const;
  /// That have something. For who looks whether they are still there.
  [[nodiscard]] std::vector<ExecutorId> executors() const;

 private:
  using NameKey = std::pair<uid_t, std::string>;
  struct Name {
    std::map<std::uint64_t, DataId> versions{};  // sealed and lost
    std::set<std::uint64_t> rooms{};
    std::optional<DataId> sealing{};  // of the rooms
    std::uint64_t newest = 0;         // number that there ever was while the name was in use
    std::uint64_t order = 0;          // the largest; likewise
  };
  struct Kept {
    DataObject object;
    Precondition precondition;  // of a room
    unsigned users = 0;         // calls that were accepted with it, and have not ended
    /// An executor that the books do not have may come with it: one that was taken for gone when it
    /// had a copy, or that has not come since this gateway began, when another one brought it.
    bool may_return = false;
    /// Somebody has said to this gateway how many copies are wanted; else the executors have.
    bool is_wish_said = false;
    std::set<ExecutorId> counted_on{};  // of where it arrives: it may be whole there
    /// Where a call has made it, until that executor says that it keeps it.
    std::optional<ExecutorId> unconfirmed{};
  };
  [[nodiscard]] Kept* kept(DataId id);
  [[nodiscard]] Result<void> check(const NameKey& key, const Precondition& precondition) const;
  [[nodiscard]] const DataObject* lookup(uid_t tenant, const DataReference& reference,
                                         MonotonicTime now) const;
  [[nodiscard]] bool is_being_replaced(const DataObject& object) const;
  void forget_name_if_unused(const NameKey& key);
  void hold(DataObject& object, DataHolder holder);
  void let_go(DataObject& object, const ExecutorId& executor);
  /// False: none was on its way there.
  bool stop_arriving(DataObject& object, const ExecutorId& executor);
  void lose_copy(DataId id, const ExecutorId& executor, const std::string& why);
  void lose_if_nowhere(DataId id);
  void became_lost(DataObject& object);
  void forget_lost(const DataObject& object);
  /// Out of all books; `drops` gets its copies.
  void erase(DataId id, DataDrops& drops);
  void erase_expired(DataId id, const ExecutorId& gone_from);
  void drop_old_versions(const NameKey& key, DataDrops& drops);
  [[nodiscard]] const DataObject* newest_of(const Name& name) const;
  bool take_name(DataObject& newcomer, DataDrops& drops, MonotonicTime now);
  void lose_name(DataObject& object, MonotonicTime now) const;
  void doom(const ExecutorId& executor, DataId id, uid_t tenant);
  void remember_removed(DataId id, uid_t tenant);
  [[nodiscard]] bool was_removed(DataId id, uid_t tenant) const;
  void adopt(const DataHolder& holder, const DataHeld& held, DataDrops& drops, MonotonicTime now);

  Limits limits_;
  std::unique_ptr<std::atomic<std::uint64_t>> changes_ =
      std::make_unique<std::atomic<std::uint64_t>>(1);  // at an address of its own
  std::uint64_t order_;                                 // the last that was given
  std::map<DataId, Kept> objects_;
  std::map<NameKey, Name> names_;
  std::map<uid_t, std::set<DataId>> by_tenant_;
  std::function<ByteCount(uid_t)> has_besides_;  // empty: nothing
  std::map<uid_t, std::uint64_t> used_by_;  // bytes of rooms and sealed ones; of all in by_tenant_
  struct AtExecutor {
    std::set<DataId> data{};  // copies, also those that are being written, and rooms
    std::uint64_t bytes = 0;
    std::map<uid_t, std::uint64_t> bytes_of{};  // by tenant; none is 0
    /// It was told to drop them, and has not said that it has. With whose they are.
    std::map<DataId, uid_t> doomed{};
    /// False: it is there already.
    bool add(const DataObject& object);
    void remove(const DataObject& object);
  };
  std::map<ExecutorId, AtExecutor> at_;
  struct Removed {
    std::set<DataId> data{};
    std::deque<DataId> in_order{};  // the first removed first
  };
  std::map<uid_t, Removed> removed_;  // that executors may come with
  std::set<std::pair<MonotonicTime, DataId>> expiries_;
  std::map<uid_t, std::deque<DataId>> lost_;  // the first lost first
  DataDrops orphans_;
};

}  // namespace orchid::gateway
