#include "data/data_book.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "foundation/random.h"

namespace orchid::executor {
namespace {

using std::chrono::milliseconds;

/// A time so far away that the clock does not have it is never.
MonotonicTime time_after(MonotonicTime now, milliseconds time) {
  const auto most = std::chrono::duration_cast<milliseconds>(MonotonicTime::max() - now);
  return time >= most ? MonotonicTime::max() : now + time;
}

std::uint64_t bytes_beyond(std::uint64_t used, std::uint64_t wanted, std::uint64_t limit) {
  const std::uint64_t free = limit - std::min(limit, used);
  return wanted > free ? wanted - free : 0;
}

Failure still_on_disk() {
  return {ErrorCode::no_capacity, "the data is on disk, and has to be read back: try again"};
}

}  // namespace

/// The unnamed, sealed ones that nobody has mapped or reads, used longest ago first, which have
/// what is `wanted` `besides` those. Nothing: all of them together have not.
std::optional<std::vector<DataId>> DataBook::find_victims(
    const Share& wanted, std::optional<std::uint32_t> tenant,
    const std::vector<DataId>& besides) const {
  std::vector<DataId> victims;
  if (wanted.bytes.value == 0 && wanted.objects == 0) return victims;
  std::vector<Objects::const_iterator> candidates;
  for (auto object = objects_.begin(); object != objects_.end(); ++object)
    if (object->second.may_be_evicted() &&
        (!tenant || object->second.terms.tenant.uid == *tenant) &&
        std::ranges::find(besides, object->first) == besides.end())
      candidates.push_back(object);
  std::ranges::sort(candidates, {}, [](const auto& object) {
    return std::pair(object->second.used, object->first);
  });
  Share found;
  for (const auto& object : candidates) {
    const ByteCount bytes = object->second.in_memory();
    const bool frees_bytes = found.bytes.value < wanted.bytes.value && bytes.value != 0;
    if (!frees_bytes && found.objects >= wanted.objects) continue;
    found.bytes.value += bytes.value;
    ++found.objects;
    victims.push_back(object->first);
  }
  if (found.bytes.value < wanted.bytes.value || found.objects < wanted.objects) return std::nullopt;
  return victims;
}

DataBook::Share DataBook::share_of(const std::vector<DataId>& data) const {
  Share share{.objects = data.size()};
  for (const DataId& one : data) share.bytes.value += objects_.at(one).in_memory().value;
  return share;
}

Failure DataBook::no_room(const Demand& demand, const Share& beyond) const {
  if (beyond.objects != 0)
    return {ErrorCode::no_data_memory,
            "this executor has " + std::to_string(used_.objects) +
                " data objects, and no more, and none of them may be evicted; delete data that is "
                "not needed, or make fewer, larger objects"};
  std::uint64_t pinned = 0;
  for (const auto& [data, object] : objects_)
    if (object.pins != 0) pinned += object.in_memory().value;
  for (const auto& [data, left] : left_) pinned += left.bytes.value;
  return {ErrorCode::no_data_memory,
          "an object of " + to_string(demand.bytes) + " does not fit: of the " +
              to_string(options_.budget) + " that this executor keeps for data, " +
              to_string(used_.bytes) + " are taken (" + to_string(ByteCount{pinned}) +
              " of it mapped by workers or being read), and what may be evicted is not enough; "
              "delete data that "
              "is not needed, or start the executor with a larger --data-memory"};
}

Failure DataBook::over_quota(const Demand& demand, const Share& beyond) const {
  if (beyond.objects != 0)
    return {ErrorCode::quota, "one tenant may have " + std::to_string(options_.most_per_tenant) +
                                  " data objects on this executor, and as many are there; delete "
                                  "data that is not needed, or make fewer, larger objects"};
  return {ErrorCode::quota,
          "an object of " + to_string(demand.bytes) + " does not fit: one tenant may have " +
              to_string(options_.per_tenant) + " of data on this executor, and " +
              to_string(used_by(demand.tenant)) + " are taken; delete data that is not needed"};
}

Result<std::vector<DataId>> DataBook::make(const MakeData& request, MonotonicTime now) {
  const DataTerms& terms = request.terms;
  if (const auto known = objects_.find(request.data); known != objects_.end()) {
    if (!known->second.sealed && known->second.terms == terms) return std::vector<DataId>{};
    return fail(ErrorCode::conflict, "there is another object with this id");
  }
  if (left_.contains(request.data))
    return fail(ErrorCode::conflict, "an object with this id was dropped, and is still in use");
  const bool is_durable = terms.durable && !request.created_ago;  // copies have no files
  if (is_durable)
    if (auto may = check_durable({terms.tenant.uid, terms.bytes}); !may)
      return fail(std::move(may.error()));
  // For a copy nothing goes that may be the last one: who orders it knows what can.
  auto victims = evict_for({terms.tenant.uid, terms.bytes}, /*is_new=*/true,
                           /*may_evict=*/!request.created_ago.has_value());
  if (!victims) return victims;
  charge(terms.tenant.uid, terms.bytes);
  Object& made =
      objects_
          .emplace(request.data,
                   Object{.terms = terms,
                          .is_copy = request.created_ago.has_value(),
                          .write_by = time_after(now, request.write_within),
                          .created = now - request.created_ago.value_or(milliseconds(0)),
                          .expires = terms.expires_in ? time_after(now, *terms.expires_in)
                                                      : MonotonicTime::max(),
                          .used = now})
          .first->second;
  if (is_durable) charge_file(made);
  return victims;
}

ByteCount DataBook::over_share(const Demand& demand) const {
  if (options_.per_tenant >= options_.budget) return {};
  return {bytes_beyond(share_of(demand.tenant).bytes.value, demand.bytes.value,
                       options_.per_tenant.value)};
}

ByteCount DataBook::over_budget(const Demand& demand, ByteCount freed) const {
  return {bytes_beyond(used_.bytes.value - freed.value, demand.bytes.value, options_.budget.value)};
}

/// First the tenant's own, if it has too much, then those of everybody.
Result<std::vector<DataId>> DataBook::evict_for(const Demand& demand, bool is_new, bool may_evict) {
  const bool has_too_many = is_new && share_of(demand.tenant).objects >= options_.most_per_tenant;
  const Share own{.bytes = over_share(demand), .objects = has_too_many ? 1U : 0U};
  auto victims = find_victims(own, demand.tenant, {});
  if (!victims || (!may_evict && !victims->empty())) return fail(over_quota(demand, own));
  const Share freed = share_of(*victims);
  const bool are_too_many = is_new && used_.objects - freed.objects >= options_.most_objects;
  const Share beyond{.bytes = over_budget(demand, freed.bytes), .objects = are_too_many ? 1U : 0U};
  const auto others = find_victims(beyond, std::nullopt, *victims);
  if (!others || (!may_evict && !others->empty())) return fail(no_room(demand, beyond));
  victims->insert(victims->end(), others->begin(), others->end());
  for (const DataId& victim : *victims) remove(objects_.find(victim));
  return std::move(*victims);
}

bool DataBook::may_open(const LaneOpenData& request, std::uint32_t uid) const {
  const auto found = objects_.find(request.data);
  const bool knows =
      found != objects_.end() && equal_in_constant_time(found->second.terms.secret, request.secret);
  return knows && !found->second.made_by &&
         (uid == 0 || uid == found->second.terms.tenant.uid ||
          uid == found->second.terms.holder_uid);
}

Result<ByteCount> DataBook::open(const LaneOpenData& request, std::uint32_t uid,
                                 MonotonicTime now) {
  if (!may_open(request, uid))
    return fail(ErrorCode::denied, "there is no such data here for this user and secret");
  Object& object = objects_.at(request.data);
  if (request.access == DataAccess::read) {
    if (!object.sealed)
      return fail(ErrorCode::conflict, "the data is still being written; seal it first");
    if (is_on_disk(request.data)) return fail(still_on_disk());
    std::size_t& readers = readers_[object.terms.tenant.uid];
    if (readers >= options_.most_readers)
      return fail(ErrorCode::no_capacity,
                  "the data of this tenant has " + std::to_string(readers) +
                      " readers on this executor, and no more; try again when some have finished");
    ++readers;
    ++object.pins;
  } else if (object.sealed || object.is_copy || std::exchange(object.writer_came, true)) {
    return fail(ErrorCode::conflict,
                "the data can be opened for writing once, before it is sealed");
  }
  object.used = now;
  return object.terms.bytes;
}

void DataBook::stop_reading(const DataId& data) {
  const auto found = objects_.find(data);
  const std::uint32_t tenant =
      found != objects_.end() ? found->second.terms.tenant.uid : left_.at(data).tenant;
  const auto readers = readers_.find(tenant);
  if (--readers->second == 0) readers_.erase(readers);
  unpin(data);
}

void DataBook::begin_to_seal(const SealData& request, MonotonicTime now) {
  const auto found = objects_.find(request.data);
  if (found == objects_.end()) return;
  Object& object = found->second;
  // Told twice, it neither lives longer nor becomes newer.
  if (std::exchange(object.is_written, true)) return;
  if (request.expires_in) object.expires = time_after(now, *request.expires_in);
  object.order = request.order;
  object.writer_came = true;
  object.write_by = MonotonicTime::max();
}

Result<ByteCount> DataBook::seal(const DataId& data, MonotonicTime now) {
  const auto found = objects_.find(data);
  if (found == objects_.end()) return fail(ErrorCode::not_found, "there is no such data");
  if (!std::exchange(found->second.sealed, true) && !found->second.is_copy)
    found->second.created = now;
  found->second.used = now;
  return found->second.terms.bytes;
}

bool DataBook::drop(const DataId& data) {
  const auto found = objects_.find(data);
  if (found == objects_.end()) return false;
  remove(found);
  return true;
}

bool DataBook::drop_slowly(const DataId& data) {
  const auto found = objects_.find(data);
  if (found == objects_.end()) return false;
  ++found->second.pins;
  remove(found);
  return true;
}

bool DataBook::drop_unless_used(const DataId& data) {
  const auto found = objects_.find(data);
  if (found == objects_.end() || !found->second.sealed || found->second.pins != 0 ||
      found->second.is_durable)
    return false;
  // One that is on disk gives no memory back.
  if (found->second.in_memory().value == 0 && found->second.terms.bytes.value != 0) return false;
  remove(found);
  return true;
}

Result<ByteCount> DataBook::pin(const DataId& data, std::uint32_t tenant, MonotonicTime now,
                                std::optional<std::uint64_t> worker) {
  const auto found = objects_.find(data);
  if (found == objects_.end() || !found->second.is_there_for(worker))
    return fail(ErrorCode::data_lost, "this executor does not have the data");
  Object& object = found->second;
  if (object.terms.tenant.uid != tenant)
    return fail(ErrorCode::denied, "the data is another tenant's");
  if (is_on_disk(data)) return fail(still_on_disk());
  ++object.pins;
  object.used = now;
  return object.terms.bytes;
}

Result<ByteCount> DataBook::pin_for_copy(const DataId& data, MonotonicTime now) {
  const auto found = objects_.find(data);
  if (found == objects_.end()) return fail(ErrorCode::data_lost, "this executor does not have it");
  return pin(data, found->second.terms.tenant.uid, now);
}

void DataBook::want_copies(const DataId& data, std::uint32_t copies) {
  if (const auto found = objects_.find(data); found != objects_.end())
    found->second.terms.copies = copies;
}

void DataBook::keep(const DataId& data) {
  if (const auto found = objects_.find(data); found != objects_.end())
    ++found->second.pins;
  else if (const auto left = left_.find(data); left != left_.end())
    ++left->second.pins;
}

unsigned DataBook::pins(const DataId& data) const {
  if (const auto found = objects_.find(data); found != objects_.end()) return found->second.pins;
  const auto left = left_.find(data);
  return left == left_.end() ? 0 : left->second.pins;
}

void DataBook::unpin(const DataId& data) {
  if (const auto found = objects_.find(data); found != objects_.end()) {
    if (found->second.pins > 0) --found->second.pins;
    return;
  }
  const auto left = left_.find(data);
  if (left == left_.end() || left->second.pins == 0) return;
  --left->second.pins;
  end_left(left);
}

DataBook::Objects::iterator DataBook::remove(Objects::iterator object) {
  auto& [data, was] = *object;
  forget_maker(data, was);
  take_off_disk(was);
  Left left{.bytes = was.in_memory(), .tenant = was.terms.tenant.uid, .pins = was.pins};
  if (was.is_durable) left.file = was.terms.bytes;
  end_left(left_.emplace(data, left).first);
  return objects_.erase(object);
}

std::vector<DataDropped> DataBook::end_overdue(MonotonicTime now) {
  std::vector<DataDropped> ended;
  for (auto object = objects_.begin(); object != objects_.end();) {
    const bool unfinished = !object->second.sealed && object->second.write_by <= now;
    if (!unfinished && object->second.expires > now) {
      ++object;
      continue;
    }
    ended.push_back({object->first, unfinished ? DataEnd::unfinished : DataEnd::expired});
    object = remove(object);
  }
  return ended;
}

std::vector<DataId> DataBook::keep_only(const std::unordered_set<DataId>& known) {
  std::vector<DataId> dropped;
  for (auto object = objects_.begin(); object != objects_.end();) {
    if (known.contains(object->first) || object->second.made_by) {
      ++object;
      continue;
    }
    dropped.push_back(object->first);
    object = remove(object);
  }
  return dropped;
}

std::vector<DataId> DataBook::drop_all() { return keep_only({}); }

std::vector<DataHeld> DataBook::held(MonotonicTime now) const {
  std::vector<DataHeld> held;
  for (const auto& [data, object] : objects_)
    if (object.sealed && !object.made_by) held.push_back(describe(data, now));
  return held;
}

DataHeld DataBook::describe(const DataId& data, MonotonicTime now) const {
  using std::chrono::duration_cast;
  const Object& object = objects_.at(data);
  DataHeld one{.data = data,
               .terms = object.terms,
               .created_ago = duration_cast<milliseconds>(now - object.created),
               .order = object.order,
               .digest = object.digest};
  one.terms.expires_in.reset();
  if (object.expires != MonotonicTime::max())
    one.terms.expires_in =
        std::max(milliseconds(0), duration_cast<milliseconds>(object.expires - now));
  return one;
}

void DataBook::keep_digest(const DataId& data, std::string digest) {
  if (const auto found = objects_.find(data); found != objects_.end())
    found->second.digest = std::move(digest);
}

std::string DataBook::digest_of(const DataId& data) const {
  const auto found = objects_.find(data);
  return found == objects_.end() ? std::string() : found->second.digest;
}

DataBook::Share DataBook::share_of(std::uint32_t tenant) const {
  const auto found = used_by_.find(tenant);
  return found == used_by_.end() ? Share{} : found->second;
}

void DataBook::charge(std::uint32_t tenant, ByteCount bytes) {
  for (Share* share : {&used_, &used_by_[tenant]}) {
    share->bytes.value += bytes.value;
    ++share->objects;
  }
}

void DataBook::give_back(std::uint32_t tenant, ByteCount bytes) {
  for (Share* share : {&used_, &used_by_.at(tenant)}) share->bytes.value -= bytes.value;
}

void DataBook::give_place_back(std::uint32_t tenant) {
  const auto found = used_by_.find(tenant);
  for (Share* share : {&used_, &found->second}) --share->objects;
  if (found->second.objects == 0) used_by_.erase(found);
}

}  // namespace orchid::executor
