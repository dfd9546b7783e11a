// data/data_book.h: which data objects this executor has, what they are charged, and which of them
// go when another one needs the room.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/data_messages.h"
#include "protocol/lane_messages.h"
#include "protocol/limits.h"

namespace orchid::executor {

/// Pure: no I/O, no clock of its own. Owned by the agent's thread.
///
/// An object is charged whole from `make` until it is dropped, and if workers have it mapped then
/// or peers read it, until the last of them is rid of it. So `used` never is over the budget.
/// Objects are counted for as long as they are charged: an empty one, too, takes one of a limited
/// number of places.
///
/// A sealed object that nobody uses may be put on disk: then it is there, has its place, and is not
/// charged, until it is read back. One that is kept as a file is on disk already, and goes there
/// for nothing. Its file is charged for itself, from `make` until it is gone, and has the object's
/// place until then: so whoever starts with the files finds no more than there are places.
class DataBook {
 public:
  struct Options {
    ByteCount budget;                                      // of all objects together
    ByteCount per_tenant;                                  // of one tenant's
    std::size_t most_objects = limits::data_per_executor;  // of all tenants, however small
    /// Of one tenant's, so that nobody alone takes the places of all.
    std::size_t most_per_tenant = limits::data_per_executor / 4;
    std::size_t most_readers = 256;  // of one tenant's objects together, at the same time
    ByteCount disk = {};             // for what does not fit into the budget; 0: none is used
    ByteCount durable = {};          // of files that outlive us; 0: none is kept
  };
  explicit DataBook(const Options& options) : options_(options) {}

  /// Room for an object; the names of those that it took the place of: none for a copy's.
  /// Idempotent: a room that is there with the same terms is answered as if it were new. Errors,
  /// nothing changed: `no_data_memory`, `quota` (the tenant's part of bytes or objects), `conflict`
  /// (the id with other terms, or sealed); of one that is to be kept as a file: `unsupported`,
  /// `disk_full`.
  [[nodiscard]] Result<std::vector<DataId>> make(const MakeData& request, MonotonicTime now);
  /// Whether a peer of that uid may have its bytes. Only one writer opens a room; whoever reads is
  /// counted until `stop_reading`. Errors: `denied` (no such object, a wrong secret, another user:
  /// not told apart), `conflict` (not sealed yet, sealed already, or opened to write before),
  /// `no_capacity` (the tenant's objects have too many readers).
  /// `no_capacity` also when it is on disk.
  [[nodiscard]] Result<ByteCount> open(const LaneOpenData& request, std::uint32_t uid,
                                       MonotonicTime now);
  /// Whether its bytes are any business of that peer's.
  [[nodiscard]] bool may_open(const LaneOpenData& request, std::uint32_t uid) const;
  /// Somebody of ours writes the bytes of a copy into it from now on; nobody else opens it to
  /// write. Errors: `not_found` (no such room), `conflict` (it is a client's, or sealed).
  [[nodiscard]] Result<ByteCount> open_for_copy(const DataId& data);
  /// The same of a room that a client writes, once, and instead of `open`: the bytes come from the
  /// gateway. Errors: `not_found`, `conflict` (somebody writes it, or has).
  [[nodiscard]] Result<ByteCount> open_for_gateway(const DataId& data);
  /// One reader less; once for each `open` to read.
  void stop_reading(const DataId& data);
  /// All is written, and nobody opens it to write any more; it takes a while until it is sealed.
  /// From now on its life is counted, if the request says how long that is.
  void begin_to_seal(const SealData& request, MonotonicTime now);
  /// It is, and is created by this. Again: the same answer. Errors: `not_found`.
  [[nodiscard]] Result<ByteCount> seal(const DataId& data, MonotonicTime now);
  /// True when it was there. One that is to have a file keeps its place until `file_gone`.
  bool drop(const DataId& data);
  /// The same, and it is charged until `unpin`: until its pages have been given back.
  bool drop_slowly(const DataId& data);

  /// As `make`, for a call of that worker. The object is nobody else's business until `publish`: it
  /// is not evicted, not told of, and a gateway that begins afresh does not end it.
  [[nodiscard]] Result<std::vector<DataId>> make_in_call(const MakeData& request,
                                                         std::uint64_t worker, MonotonicTime now);
  /// A room of that id is a lease's from now on, until it is dropped: it is neither written nor
  /// sealed, and as private as what a call makes.
  void keep_for_lease(const DataId& data);
  /// What that worker's call may seal, or has sealed so: its room, of at least so many bytes.
  /// Errors: `not_found`, `too_large`, `conflict` (sealed otherwise).
  [[nodiscard]] Result<void> check_seal_in_call(const DataId& data, std::uint64_t worker,
                                                ByteCount used) const;
  /// It is sealed, has `used` bytes, which are all that is charged, and is to have that name.
  void seal_in_call(const DataId& data, ByteCount used, std::string name, MonotonicTime now);
  struct MadeInCall {
    DataId data;
    DataTerms terms;
    bool sealed = false;
  };
  /// What is sealed in the order in which it was sealed, after what is not.
  [[nodiscard]] std::vector<MadeInCall> made_by(std::uint64_t worker) const;
  /// That worker's call has sealed it, and it is there, unpublished.
  [[nodiscard]] bool is_sealed_by(const DataId& data, std::uint64_t worker) const;
  /// The gateway knows it from now on. False: it is not there any more.
  bool publish(const DataAccepted::Object& object, std::optional<std::uint32_t> holder_uid,
               MonotonicTime now);
  /// True when it was there, and sealed, and nobody uses it, and there is no file of it.
  bool drop_unless_used(const DataId& data);
  /// A worker of that tenant has it mapped from now on. `worker`: what its own call has made, too.
  /// Errors: `data_lost` (not there, or not sealed, or another call's that was not published),
  /// `denied` (another tenant's), `no_capacity` (on disk).
  [[nodiscard]] Result<ByteCount> pin(const DataId& data, std::uint32_t tenant, MonotonicTime now,
                                      std::optional<std::uint64_t> worker = std::nullopt);
  /// Somebody of ours sends it elsewhere from now on. Errors: `data_lost` (not there, or not
  /// sealed).
  [[nodiscard]] Result<ByteCount> pin_for_copy(const DataId& data, MonotonicTime now);
  /// So many copies are wanted.
  void want_copies(const DataId& data, std::uint32_t copies);
  /// Somebody may have it open whom nobody else counts. Nothing when it is not charged.
  void keep(const DataId& data);
  /// The worker, or the copy, has it no more; once for each `pin`, `pin_for_copy`, `keep` and
  /// `open_for_copy`, and for `drop_slowly`.
  void unpin(const DataId& data);
  /// Those that are to come; 0: nobody is known to use it, or it is not charged any more.
  [[nodiscard]] unsigned pins(const DataId& data) const;

  // What is on disk (data_book_spill.cpp).

  /// Of that tenant's.
  struct Demand {
    std::uint32_t tenant = 0;
    ByteCount bytes;
  };
  /// Nothing has to go for it.
  [[nodiscard]] bool fits(const Demand& demand) const;
  /// What is to be put on disk next so that it fits: of the sealed ones that nobody uses, the one
  /// that was used longest ago. Nothing: it fits, or would not whatever is put there.
  [[nodiscard]] std::optional<DataId> next_to_spill(const Demand& demand) const;
  /// It is being written to disk from now on, until `end_spill`, and in use until then. Its size.
  ByteCount begin_spill(const DataId& data);
  /// `written`: it is on disk. True: that is the only place where it is from now on. False: it was
  /// not written, or is used, or dropped: its file is not needed.
  [[nodiscard]] bool end_spill(const DataId& data, bool written);
  /// That is where it is; it may be on its way back.
  [[nodiscard]] bool is_on_disk(const DataId& data) const;
  /// What reading it back takes, if it is there.
  [[nodiscard]] std::optional<Demand> demand_of(const DataId& data) const;
  /// It is on its way back, and charged, until `end_return`. What was evicted for it. Errors,
  /// nothing changed: as of `make`.
  [[nodiscard]] Result<std::vector<DataId>> begin_return(const DataId& data, MonotonicTime now);
  /// `read`: it is in memory again. False: it was not read, or was dropped.
  [[nodiscard]] bool end_return(const DataId& data, bool read);
  [[nodiscard]] ByteCount on_disk() const { return used_.on_disk; }
  [[nodiscard]] ByteCount disk() const { return options_.disk; }

  // What is kept as a file.

  /// A file of it is there, from an earlier process: it is sealed, on disk, and kept, also when a
  /// tenant may have less now. Errors, nothing changed: `conflict` (the id is known),
  /// `no_data_memory` (there are too many objects, or it is larger than the budget).
  [[nodiscard]] Result<void> adopt(const DataHeld& held, MonotonicTime now);
  /// What a tenant is to have as files, and has not yet: rooms, too.
  struct Unwritten {
    std::size_t objects = 0;
    ByteCount bytes;
  };
  [[nodiscard]] Unwritten unwritten(std::uint32_t tenant, const DataId& besides) const;
  /// It is to be, and is not yet.
  [[nodiscard]] bool lacks_file(const DataId& data) const;
  /// One that is sealed and known to the gateway is to be, too, and charged for it. It lives so
  /// long from now on, if that is longer. False: it was to be before. Errors, nothing changed:
  /// `data_lost` (there is no such object), and those of a room with a file.
  [[nodiscard]] Result<bool> want_file(const DataId& data,
                                       std::optional<std::chrono::milliseconds> expires_in,
                                       MonotonicTime now);
  /// Its file could not be written: it is as before `want_file`.
  void has_no_file(const DataId& data);
  /// It is from now on.
  void keep_file(const DataId& data);
  [[nodiscard]] bool has_file(const DataId& data) const;
  /// Of one that was dropped: its file is not there any more, or never was. Nothing of others.
  void file_gone(const DataId& data);
  [[nodiscard]] ByteCount durable_used() const { return used_.durable; }

  /// What is over now: it is dropped.
  [[nodiscard]] std::vector<DataDropped> end_overdue(MonotonicTime now);
  /// Drops all others, but for what calls have made and not published; their ids.
  [[nodiscard]] std::vector<DataId> keep_only(const std::unordered_set<DataId>& known);
  [[nodiscard]] std::vector<DataId> drop_all();

  /// It has that digest: its bytes never change.
  void keep_digest(const DataId& data, std::string digest);
  /// Empty: it is not known, or there is no such object.
  [[nodiscard]] std::string digest_of(const DataId& data) const;

  /// The sealed ones, with the time that they have left.
  [[nodiscard]] std::vector<DataHeld> held(MonotonicTime now) const;
  /// One that is there, sealed or not.
  [[nodiscard]] DataHeld describe(const DataId& data, MonotonicTime now) const;
  [[nodiscard]] bool contains(const DataId& data) const { return objects_.contains(data); }
  /// It is sealed, that tenant's, and there for that worker; for any of the tenant's without one.
  [[nodiscard]] bool has_for(const DataId& data, std::uint32_t tenant,
                             std::optional<std::uint64_t> worker = std::nullopt) const {
    const auto found = objects_.find(data);
    return found != objects_.end() && found->second.is_there_for(worker) &&
           found->second.terms.tenant.uid == tenant;
  }
  /// What has to go of those that are not evicted, so that it fits. 0: nothing, or that would not
  /// help.
  [[nodiscard]] ByteCount lacking(const Demand& demand) const;
  [[nodiscard]] ByteCount used() const { return used_.bytes; }
  [[nodiscard]] ByteCount used_by(std::uint32_t tenant) const { return share_of(tenant).bytes; }
  [[nodiscard]] ByteCount budget() const { return options_.budget; }

 private:
  struct Object {
    DataTerms terms;
    bool sealed = false;
    bool writer_came = false;
    bool is_written = false;  // whole, and to be sealed
    bool is_copy = false;     // it was sealed elsewhere before
    MonotonicTime write_by;
    MonotonicTime created;
    std::uint64_t order = 0;  // among the versions of its name, as the gateway said
    MonotonicTime expires = MonotonicTime::max();
    MonotonicTime used;
    unsigned pins = 0;                     // who has it mapped, and readers
    std::optional<std::uint64_t> made_by;  // the worker whose call has made it, and has not ended
    std::string digest = {};               // when it is known
    std::uint64_t sealed_as = 0;           // of those that calls seal, in their order
    enum class Place : std::uint8_t { memory, to_disk, disk, from_disk };
    Place place = Place::memory;
    bool is_durable = false;  // its file is charged
    bool has_file = false;    // which is whole
    /// Sealed; and what a call has made is nobody else's before it is published.
    [[nodiscard]] bool is_there_for(const std::optional<std::uint64_t>& worker) const {
      return sealed && (!made_by || made_by == worker);
    }
    [[nodiscard]] bool is_idle() const { return sealed && pins == 0 && !made_by; }
    [[nodiscard]] bool may_be_evicted() const {
      return is_idle() && terms.name.empty() && !is_durable;
    }
    [[nodiscard]] bool may_be_spilled() const {
      return is_idle() && place == Place::memory && terms.bytes.value != 0;
    }
    /// Of the budget, and of the disk.
    [[nodiscard]] ByteCount in_memory() const {
      return place == Place::disk ? ByteCount{} : terms.bytes;
    }
    [[nodiscard]] ByteCount on_disk() const {
      return place == Place::memory || has_file ? ByteCount{} : terms.bytes;
    }
  };
  using Objects = std::unordered_map<DataId, Object>;
  /// Dropped, and still mapped by workers or being read, or with a file that is still there.
  struct Left {
    ByteCount bytes;
    std::uint32_t tenant = 0;
    unsigned pins = 0;
    std::optional<ByteCount> file = {};
  };
  /// What objects take, of one tenant or of all.
  struct Share {
    ByteCount bytes;
    std::size_t objects = 0;
    ByteCount on_disk;
    ByteCount durable;
  };
  /// What `demand` is beyond the tenant's part, and beyond the budget when so much is free of it.
  [[nodiscard]] ByteCount over_share(const Demand& demand) const;
  [[nodiscard]] ByteCount over_budget(const Demand& demand, ByteCount freed) const;
  /// What goes for it, with a place for one object more: it is removed. Errors: as of `make`.
  [[nodiscard]] Result<std::vector<DataId>> evict_for(const Demand& demand, bool is_new,
                                                      bool may_evict);
  /// A tenant has the same part of a disk as of the budget.
  [[nodiscard]] ByteCount part_of_tenant(ByteCount disk) const;
  [[nodiscard]] Result<void> check_durable(const Demand& demand) const;
  void charge_file(Object& object);
  void put_on_disk(const Object& object);
  void take_off_disk(const Object& object);
  [[nodiscard]] std::optional<std::vector<DataId>> find_victims(
      const Share& wanted, std::optional<std::uint32_t> tenant,
      const std::vector<DataId>& besides) const;
  [[nodiscard]] Share share_of(const std::vector<DataId>& data) const;
  [[nodiscard]] Share share_of(std::uint32_t tenant) const;
  [[nodiscard]] Failure no_room(const Demand& demand, const Share& beyond) const;
  [[nodiscard]] Failure over_quota(const Demand& demand, const Share& beyond) const;
  void charge(std::uint32_t tenant, ByteCount bytes);
  void give_back(std::uint32_t tenant, ByteCount bytes);
  void give_place_back(std::uint32_t tenant);
  void end_left(std::unordered_map<DataId, Left>::iterator left);
  Objects::iterator remove(Objects::iterator object);
  void forget_maker(const DataId& data, Object& object);

  Options options_;
  Objects objects_;
  std::unordered_map<DataId, Left> left_;
  std::unordered_map<std::uint64_t, std::unordered_set<DataId>> made_;  // by worker; none is empty
  std::uint64_t seals_in_calls_ = 0;
  Share used_;
  std::map<std::uint32_t, Share> used_by_;        // by uid; none has no objects
  std::map<std::uint32_t, std::size_t> readers_;  // by uid of the objects' tenant; none is 0
};

}  // namespace orchid::executor
