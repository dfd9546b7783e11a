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
class DataBook {
 public:
  struct Options {
    ByteCount budget;                                      // of all objects together
    ByteCount per_tenant;                                  // of one tenant's
    std::size_t most_objects = limits::data_per_executor;  // of all tenants, however small
    /// Of one tenant's, so that nobody alone takes the places of all.
    std::size_t most_per_tenant = limits::data_per_executor / 4;
    std::size_t most_readers = 256;  // of one tenant's objects together, at the same time
  };
  explicit DataBook(const Options& options) : options_(options) {}

  /// Room for an object; the names of those that it took the place of. Idempotent: a room that is
  /// there with the same terms is answered as if it were new. Errors, nothing changed:
  /// `no_data_memory`, `quota` (the tenant's part of bytes or objects), `conflict` (the id with
  /// other terms, or sealed).
  [[nodiscard]] Result<std::vector<DataId>> make(const MakeData& request, MonotonicTime now);
  /// Whether a peer of that uid may have its bytes. Only one writer opens a room; whoever reads is
  /// counted until `stop_reading`. Errors: `denied` (no such object, a wrong secret, another user:
  /// not told apart), `conflict` (not sealed yet, sealed already, or opened to write before),
  /// `no_capacity` (the tenant's objects have too many readers).
  [[nodiscard]] Result<ByteCount> open(const LaneOpenData& request, std::uint32_t uid,
                                       MonotonicTime now);
  /// One reader less; once for each `open` to read.
  void stop_reading(const DataId& data);
  /// All is written, and nobody opens it to write any more; it takes a while until it is sealed.
  /// From now on its life is counted, if the request says how long that is.
  void begin_to_seal(const SealData& request, MonotonicTime now);
  /// It is, and is created by this. Again: the same answer. Errors: `not_found`.
  [[nodiscard]] Result<ByteCount> seal(const DataId& data, MonotonicTime now);
  /// True when it was there.
  bool drop(const DataId& data);
  /// A worker of that tenant has it mapped from now on. Errors: `data_lost` (not there, or not
  /// sealed), `denied` (another tenant's).
  [[nodiscard]] Result<ByteCount> pin(const DataId& data, std::uint32_t tenant, MonotonicTime now);
  /// The worker has it mapped no more; once for each `pin`.
  void unpin(const DataId& data);

  /// What is over now: it is dropped.
  [[nodiscard]] std::vector<DataDropped> end_overdue(MonotonicTime now);
  /// Drops all others; their ids.
  [[nodiscard]] std::vector<DataId> keep_only(const std::unordered_set<DataId>& known);
  [[nodiscard]] std::vector<DataId> drop_all() { return keep_only({}); }

  /// The sealed ones, with the time that they have left.
  [[nodiscard]] std::vector<DataHeld> held(MonotonicTime now) const;
  [[nodiscard]] bool contains(const DataId& data) const { return objects_.contains(data); }
  [[nodiscard]] ByteCount used() const { return used_.bytes; }
  [[nodiscard]] ByteCount used_by(std::uint32_t tenant) const { return share_of(tenant).bytes; }
  [[nodiscard]] ByteCount budget() const { return options_.budget; }

 private:
  struct Object {
    DataTerms terms;
    bool sealed = false;
    bool writer_came = false;
    bool is_written = false;  // whole, and to be sealed
    MonotonicTime write_by;
    MonotonicTime created;
    std::uint64_t order = 0;  // among the versions of its name, as the gateway said
    MonotonicTime expires = MonotonicTime::max();
    MonotonicTime used;
    unsigned pins = 0;  // workers that have it mapped, and readers
    [[nodiscard]] bool may_be_evicted() const { return sealed && terms.name.empty() && pins == 0; }
  };
  using Objects = std::unordered_map<DataId, Object>;
  /// Dropped, and still mapped by workers or being read.
  struct Left {
    ByteCount bytes;
    std::uint32_t tenant = 0;
    unsigned pins = 0;
  };
  /// What objects take, of one tenant or of all.
  struct Share {
    ByteCount bytes;
    std::size_t objects = 0;
  };
  [[nodiscard]] std::optional<std::vector<DataId>> find_victims(
      const Share& wanted, std::optional<std::uint32_t> tenant,
      const std::vector<DataId>& besides) const;
  [[nodiscard]] Share share_of(const std::vector<DataId>& data) const;
  [[nodiscard]] Share share_of(std::uint32_t tenant) const;
  [[nodiscard]] Failure no_room(const MakeData& request, const Share& beyond) const;
  [[nodiscard]] Failure over_quota(const MakeData& request, const Share& beyond) const;
  void charge(std::uint32_t tenant, ByteCount bytes);
  void give_back(std::uint32_t tenant, ByteCount bytes);
  Objects::iterator remove(Objects::iterator object);

  Options options_;
  Objects objects_;
  std::unordered_map<DataId, Left> left_;
  Share used_;
  std::map<std::uint32_t, Share> used_by_;        // by uid; none has no objects
  std::map<std::uint32_t, std::size_t> readers_;  // by uid of the objects' tenant; none is 0
};

}  // namespace orchid::executor
