// What calls ask for while they run: data by name, and a place in the catalogue for what they have
// made (docs/PROTOCOL.md §2, "Data").
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/data_service.h"
#include "foundation/log.h"
#include "hosts/capacity.h"

namespace orchid::gateway {

void DataService::hear(const ExecutorId& executor, const FindData& question) {
  const auto decline = [&](const Failure& why) {
    parts_.send(executor, DataDeclined{question.question, why.code, why.message});
  };
  const Executor* asker = parts_.broker.hosts().find(executor);
  if (asker == nullptr || !Capacity::serves(*asker, question.tenant))
    return decline({ErrorCode::denied, "this executor does not serve that user"});
  const auto reference = parse_data_reference(question.reference);
  if (!reference) return decline(reference.error());
  const auto found = lookup(question.tenant.uid, *reference);
  if (!found) return decline(found.error());
  const DataObject& object = **found;
  if (std::ranges::find(object.holders, executor, &DataHolder::executor) != object.holders.end())
    return parts_.send(executor, DataFound{question.question, object.id});
  decline({ErrorCode::data_elsewhere,
           fmt::format("'{}' is on the host {}, and the call runs on another one; name it in the "
                       "call's Orchid-Data, then it runs where the data is",
                       label_of(object), object.holders.front().host)});
}

/// What is sealed under a condition about its name has that to itself until it is there.
bool DataService::has_to_wait(const PublishData& offer) const {
  return std::ranges::any_of(offer.objects, [&](const auto& offered) {
    return catalogue_.is_sealing(offered.terms.tenant.uid, offered.terms.name);
  });
}

/// Not for as long as the executor does, which would have given it up by then.
void DataService::hear(const ExecutorId& executor, const PublishData& offer) {
  constexpr std::chrono::seconds patience{3};
  if (has_to_wait(offer))
    waiting_offers_.push_back({executor, offer, parts_.loop.now() + patience});
  else
    answer(executor, offer);
}

void DataService::answer(const ExecutorId& executor, const PublishData& offer) {
  auto taken = check_offer(executor, offer);
  if (taken) taken = take_offer(executor, offer);
  if (!taken)
    return parts_.send(executor,
                       DataDeclined{offer.question, taken.error().code, taken.error().message});
  publish_offer(executor, offer);
}

void DataService::hear_waiting_offers() {
  const MonotonicTime now = parts_.loop.now();
  for (WaitingOffer& waiting : std::exchange(waiting_offers_, {})) {
    if (parts_.broker.hosts().find(waiting.executor) == nullptr) continue;
    if (!has_to_wait(waiting.offer)) {
      answer(waiting.executor, waiting.offer);
    } else if (now < waiting.due) {
      waiting_offers_.push_back(std::move(waiting));
    } else {
      parts_.send(waiting.executor,
                  DataDeclined{waiting.offer.question, ErrorCode::conflict,
                               "another version of the name is being sealed, on a condition: try "
                               "again"});
    }
  }
}

/// Who has asked is another process now, or will not be heard of again.
void DataService::forget_offers_of(const ExecutorId& executor) {
  std::erase_if(waiting_offers_,
                [&](const WaitingOffer& waiting) { return waiting.executor == executor; });
}

void DataService::publish_offer(const ExecutorId& executor, const PublishData& offer) {
  DataAccepted accepted{.question = offer.question, .objects = {}, .holder_uid = options_.owner};
  const MonotonicTime now = parts_.loop.now();
  for (const PublishData::Object& offered : offer.objects) {
    const DataObject& object = catalogue_.publish_unconfirmed(offered.data, now);
    accepted.objects.push_back(
        {.data = object.id, .version = object.version, .order = object.order});
    if (object.expires != MonotonicTime::max())
      accepted.objects.back().expires_in =
          std::chrono::ceil<std::chrono::milliseconds>(object.expires - now);
    ++made_;
    log::info("event=data_made data={} name={} bytes={} executor={} by=call", to_string(object.id),
              label_of(object), object.bytes.value, executor.value());
  }
  // What is too old goes when the executor has confirmed it: its call may fail before that.
  parts_.send(executor, std::move(accepted));
}

Result<void> DataService::check_offer(const ExecutorId& executor, const PublishData& offer) const {
  const Executor* holder = parts_.broker.hosts().find(executor);
  const LeaseTenant& tenant = offer.objects.front().terms.tenant;
  const bool may_have = holder != nullptr && Capacity::serves(*holder, tenant) &&
                        (!options_.owner || holder->owner.tenant.uid == *options_.owner ||
                         holder->owner.tenant.uid == tenant.uid);
  if (!may_have) return fail(ErrorCode::denied, "this executor does not keep data of that user");
  for (const PublishData::Object& offered : offer.objects) {
    if (catalogue_.knows(offered.data))
      return fail(ErrorCode::conflict, "there is another object with this id");
    const std::string& name = offered.terms.name;
    if (name.empty()) continue;
    if (auto checked = check_data_name(name); !checked) return checked;
    if (parts_.loop.now() < executors_back_)
      return fail(ErrorCode::unreachable,
                  "the gateway has just started, and does not know yet which versions of '" + name +
                      "' there are: try again in a few seconds");
  }
  return {};
}

/// All of them get their numbers, or none does.
Result<void> DataService::take_offer(const ExecutorId& executor, const PublishData& offer) {
  const std::string host = Capacity::name_of(*parts_.broker.hosts().find(executor));
  std::vector<DataId> taken;
  for (const PublishData::Object& offered : offer.objects) {
    const DataTerms& terms = offered.terms;
    DataCatalogue::NewObject wanted{.id = offered.data,
                                    .tenant = terms.tenant,
                                    .bytes = terms.bytes,
                                    .name = terms.name,
                                    .secret = terms.secret};
    if (terms.name.empty()) wanted.expires_in = options_.unnamed_for;
    Result<const DataObject*> room = fail(ErrorCode::conflict, "an object is offered twice");
    if (!catalogue_.knows(offered.data))
      room = catalogue_.make_room(std::move(wanted), parts_.loop.now());
    if (!room) {
      for (const DataId& id : taken) drop(catalogue_.abandon(id));
      return fail(std::move(room.error()));
    }
    taken.push_back(offered.data);
    catalogue_.put_room(offered.data, {executor, host});
  }
  return {};
}

}  // namespace orchid::gateway
