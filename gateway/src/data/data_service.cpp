#include "data/data_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/data_times.h"
#include "foundation/log.h"
#include "foundation/random.h"
#include "hosts/capacity.h"
#include "protocol/spill_time.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t secret_bytes = 32;

}  // namespace

DataService::DataService(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(options),
      catalogue_(options.limits, options.epoch),
      far_({.loop = parts_.loop,
            .broker = parts_.broker,
            .send = parts_.send,
            .start = std::move(parts_.start_far_end)},
           {}),
      copies_(
          {.loop = parts_.loop,
           .broker = parts_.broker,
           .messages = parts_.messages,
           .send = parts_.send,
           .catalogue = catalogue_,
           .far = &far_,
           .keep = [this](const std::vector<DataId>& ids) { return keeper_of(ids); },
           .find = [this](uid_t tenant,
                          const DataReference& reference) { return lookup(tenant, reference); }},
          {.owner = options.owner}),
      digests_({.loop = parts_.loop,
                .broker = parts_.broker,
                .messages = parts_.messages,
                .send = parts_.send,
                .catalogue = catalogue_},
               options.answer_within),
      filing_({.loop = parts_.loop,
               .broker = parts_.broker,
               .messages = parts_.messages,
               .send = parts_.send,
               .catalogue = catalogue_,
               .copies = copies_},
              options.answer_within) {
  catalogue_.count_besides(options.leased);
  parts_.loop.add(*this);
  const auto listen = [this](const ExecutorId& executor, const auto& message) {
    hear(executor, message);
  };
  parts_.messages.on<DataMade>(listen);
  parts_.messages.on<DataRefused>(listen);
  parts_.messages.on<DataSealed>(listen);
  parts_.messages.on<DataDropped>(listen);
  parts_.messages.on<DataKept>(listen);
  parts_.messages.on<FindData>(listen);
  parts_.messages.on<PublishData>(listen);
}

void DataService::make(NewData wanted, Done<ReachableData> done) {
  // Its number would be that of a version that an executor is about to bring back.
  if (!wanted.name.empty() && parts_.loop.now() < executors_back_)
    return done(fail(ErrorCode::unreachable,
                     "the gateway has just started, and does not know yet which versions of '" +
                         wanted.name + "' there are: try again in a few seconds"));
  if (wanted.name.empty() && !wanted.expires_in) wanted.expires_in = options_.unnamed_for;
  const DataId id = make_data_id();
  auto room = catalogue_.make_room({.id = id,
                                    .tenant = std::move(wanted.tenant),
                                    .bytes = wanted.bytes,
                                    .name = std::move(wanted.name),
                                    .secret = random_hex(secret_bytes),
                                    .expires_in = wanted.expires_in,
                                    .copies = wanted.copies,
                                    .durable = wanted.durable,
                                    .precondition = std::move(wanted.precondition)},
                                   parts_.loop.now());
  if (!room) return done(fail(std::move(room.error())));
  making_[id] = {.done = std::move(done), .is_here = wanted.is_here};
  ask_next(id);
}

/// The executors are asked one after the other: what room it has, and what could go for it, each
/// knows best.
void DataService::ask_next(DataId id) {
  Making& making = making_.at(id);
  const DataObject* object = catalogue_.room(id);
  const Executor* keeper = object == nullptr ? nullptr : keeper_for(*object, making);
  if (keeper == nullptr) {
    Failure why = object == nullptr
                      ? Failure{ErrorCode::unreachable, "its executor has gone: send it again"}
                  : making.is_here && could_be_sent(*object)
                      ? Failure{ErrorCode::unsupported,
                                "no executor on the gateway's own host has room for it, where "
                                "programs write by themselves: send its bytes with PUT"}
                  : making.refused ? *making.refused
                                   : no_keeper(*object);
    const auto done = std::move(making.done);
    making_.erase(id);
    drop(catalogue_.abandon(id));
    return done(fail(std::move(why)));
  }
  const MonotonicTime now = parts_.loop.now();
  making.asked.insert(keeper->id);
  making.due = now + options_.answer_within + time_to_spill(object->bytes);
  catalogue_.put_room(id, {keeper->id, Capacity::name_of(*keeper)});
  MakeData message{.data = id,
                   .terms = {.tenant = object->tenant,
                             .bytes = object->bytes,
                             .name = object->name,
                             .version = object->version,
                             .expires_in = {},
                             .secret = object->secret,
                             .holder_uid = options_.owner,
                             .copies = object->copies,
                             .durable = object->durable},
                   .write_within = time_to_write(object->bytes)};
  // Its time runs from its last byte on, and ends by our word; the executor's own is for when there
  // is no gateway.
  if (object->expires != MonotonicTime::max())
    message.terms.expires_in =
        std::chrono::ceil<milliseconds>(object->expires - now) + message.write_within;
  parts_.send(keeper->id, std::move(message));
}

void DataService::hear(const ExecutorId& executor, const DataMade& message) {
  if (copies_.hear(executor, message)) return;
  const auto making = making_.find(message.data);
  const DataObject* object = catalogue_.room(message.data);
  const Executor* keeper = parts_.broker.hosts().find(executor);
  const bool is_awaited = making != making_.end() && object != nullptr && keeper != nullptr &&
                          object->holders.front().executor == executor;
  if (!is_awaited) return;  // it was given up, and the executor has been told
  const auto done = std::move(making->second.done);
  making_.erase(making);
  done(reachable(*object, *keeper));
}

void DataService::hear(const ExecutorId& executor, const DataRefused& message) {
  if (copies_.hear(executor, message)) return;
  const auto making = making_.find(message.data);
  const DataObject* object = catalogue_.room(message.data);
  const auto sealing = sealing_.find(message.data);
  if (sealing != sealing_.end() && sealing->second.is_asked && object != nullptr &&
      object->holders.front().executor == executor)
    return refuse_seal(message.data,
                       {message.code, object->holders.front().host + ": " + message.message});
  if (making == making_.end()) return;
  if (object != nullptr && object->holders.front().executor != executor) return;
  const Executor* keeper = parts_.broker.hosts().find(executor);
  // Once; it is asked again then.
  if (object != nullptr && message.code == ErrorCode::no_data_memory &&
      making->second.made_room.insert(executor).second &&
      copies_.make_room_at(executor, object->bytes))
    making->second.asked.erase(executor);
  // It is about the room's id, and no precondition of the client's.
  const ErrorCode code =
      message.code == ErrorCode::conflict ? ErrorCode::unreachable : message.code;
  making->second.refused =
      Failure{code, (keeper == nullptr ? "" : Capacity::name_of(*keeper) + ": ") + message.message};
  ask_next(message.data);
}

void DataService::watch(DataId room, std::function<void()> gone) {
  if (catalogue_.room(room) == nullptr) return gone();
  writing_[room] = std::move(gone);
}

void DataService::seal(DataId id, Done<ReachableData> done) {
  writing_.erase(id);
  const DataObject* object = catalogue_.room(id);
  if (object == nullptr) {
    DataDrops none;
    return done(fail(catalogue_.publish(id, none, parts_.loop.now()).error()));
  }
  put_off_seals(*object);
  sealing_[id] = {.number = next_sealing_++, .due = time_of_seal(*object), .done = std::move(done)};
  ask_to_seal(id);
}

void DataService::ask_to_seal(DataId id) {
  Sealing& sealing = sealing_.at(id);
  DataDrops drops;
  const auto may = catalogue_.begin_to_seal(id, drops);
  drop(drops);
  if (!may) {
    const auto done = std::move(sealing.done);
    sealing_.erase(id);
    return done(fail(may.error()));
  }
  if (!*may) return;
  const DataObject& object = *catalogue_.room(id);
  sealing.is_asked = true;
  sealing.due = time_of_seal(object);
  SealData message{.data = id, .order = object.order};
  // From the last byte on, as ours.
  if (object.expires != MonotonicTime::max())
    message.expires_in = std::chrono::ceil<milliseconds>(object.expires - object.created);
  parts_.send(object.holders.front().executor, message);
}

/// After one was published or given up, which may have been before others of its name.
void DataService::ask_to_seal_waiting() {
  std::vector<std::pair<std::uint64_t, DataId>> waiting;
  for (const auto& [id, sealing] : sealing_)
    if (!sealing.is_asked) waiting.emplace_back(sealing.number, id);
  std::ranges::sort(waiting);
  for (const auto& [number, id] : waiting)
    if (sealing_.contains(id)) ask_to_seal(id);
  hear_waiting_offers();
}

void DataService::hear(const ExecutorId& executor, const DataSealed& message) {
  DataDrops old;
  if (catalogue_.confirm(message.data, executor, old)) return drop(old);
  if (copies_.hear(executor, message)) return;
  const auto sealing = sealing_.find(message.data);
  const DataObject* object = catalogue_.room(message.data);
  const bool is_awaited = sealing != sealing_.end() && sealing->second.is_asked &&
                          object != nullptr && object->holders.front().executor == executor;
  if (!is_awaited) {
    // Sealed for nobody: its room was given up on the way, or was another stream's.
    if (!catalogue_.has(executor, message.data)) parts_.send(executor, DropData{message.data});
    return;
  }
  const auto done = std::move(sealing->second.done);
  sealing_.erase(sealing);
  DataDrops drops;
  auto published = catalogue_.publish(message.data, drops, parts_.loop.now());
  drop(drops);
  if (!published) return done(fail(std::move(published.error())));
  ++made_;
  log::info("event=data_made data={} name={} bytes={} executor={}", to_string(message.data),
            label_of(**published), (*published)->bytes.value, executor.value());
  done(ReachableData{.object = **published, .lane_socket = {}});
  ask_to_seal_waiting();
}

void DataService::hear(const ExecutorId& executor, const DataDropped& message) {
  std::erase_if(waiting_offers_, [&](const WaitingOffer& waiting) {
    return waiting.executor == executor &&
           std::ranges::find(waiting.offer.objects, message.data, &PublishData::Object::data) !=
               waiting.offer.objects.end();
  });
  catalogue_.dropped(executor, message.data, message.reason);
  removals_.dropped(executor, message.data);
  copies_.spared(executor, message.data);
  if (message.reason == DataEnd::evicted) copies_.evicted(executor, message.data);
  give_up_late(parts_.loop.now());
}

void DataService::hear(const ExecutorId& executor, const DataKept& message) {
  copies_.stayed(executor, message.data);
}

void DataService::abandon(DataId id) {
  writing_.erase(id);
  if (catalogue_.room(id) == nullptr) return;
  ++abandoned_;
  sealing_.erase(id);
  drop(catalogue_.abandon(id));
}

void DataService::drop(const DataDrops& drops) {
  for (const DataDrop& one : drops) parts_.send(one.executor, DropData{one.data});
}

void DataService::tick(MonotonicTime now) {
  for (const ExecutorId& executor : catalogue_.executors())
    if (parts_.broker.hosts().find(executor) == nullptr) {
      log::info("event=data_executor_gone executor={}", executor.value());
      catalogue_.executor_gone(executor);
    }
  drop(catalogue_.expire(now));
  give_up_late(now);
  removals_.give_up_late(now);
  hear_waiting_offers();
  far_.tick(now);
  copies_.tick(now);
  digests_.tick(now);
  filing_.tick(now);
}

void DataService::executor_joined(const Executor& executor, std::span<const DataHeld> held) {
  forget_offers_of(executor.id);
  // What does not fit there is not there, and would be copied to others.
  std::vector<DataHeld> possible(held.begin(), held.end());
  std::erase_if(possible, [&](const DataHeld& one) {
    return one.terms.bytes.value > executor.data_memory.value_or(ByteCount{}).value;
  });
  std::optional<uid_t> only;
  if (options_.owner && executor.owner.tenant.uid != *options_.owner)
    only = executor.owner.tenant.uid;
  std::map<DataId, std::uint32_t> before;
  for (const DataHeld& one : possible)
    if (const DataObject* object = catalogue_.sealed(one.data)) before[one.data] = object->copies;
  far_.executor_joined(executor.id);
  copies_.executor_joined(executor.id);
  drop(catalogue_.executor_joined({executor.id, Capacity::name_of(executor)}, possible, only,
                                  parts_.loop.now()));
  for (const DataId& data : removals_.executor_joined(
           executor.id, held, [this](const ExecutorId& other) { return is_connected(other); }))
    parts_.send(executor.id, DropData{data});
  tell_wishes(executor, possible, before);
}

/// It may have been away when so many copies were wished for; or the others were, when it was told,
/// and this gateway was not there yet.
void DataService::tell_wishes(const Executor& executor, std::span<const DataHeld> held,
                              const std::map<DataId, std::uint32_t>& before) {
  for (const DataHeld& one : held) {
    const DataObject* object = catalogue_.sealed(one.data);
    if (object == nullptr || !catalogue_.has(executor.id, one.data)) continue;
    if (executor.copies_data && one.terms.copies != object->copies)
      parts_.send(executor.id, WishCopies{one.data, object->copies});
    const auto was = before.find(one.data);
    if (was != before.end() && was->second != object->copies)
      copies_.tell_wish(*object, executor.id);
  }
}

}  // namespace orchid::gateway
