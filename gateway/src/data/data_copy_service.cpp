#include "data/data_copy_service.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "data/data_times.h"
#include "foundation/log.h"
#include "hosts/capacity.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

}  // namespace

DataCopyService::DataCopyService(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(options),
      copies_(
          parts_.catalogue, [this](const ExecutorId& id) { return can_send(id); }, options_.copies,
          [this](const ExecutorId& from, const ExecutorId& to) {
            const Executor* sender = parts_.broker.hosts().find(from);
            const Executor* taker = parts_.broker.hosts().find(to);
            return sender == nullptr || taker == nullptr ? Distance::elsewhere
                                                         : distance_between(*sender, *taker);
          }) {
  parts_.messages.on<DataOffered>([this](const ExecutorId& from, const DataOffered& m) {
    if (parts_.far != nullptr && parts_.far->hear(from, m)) return;
    // Others connect there: only the port is the executor's to say now.
    const Executor* executor = parts_.broker.hosts().find(from);
    const auto port = m.address.rfind(':');
    if (executor == nullptr || port == std::string::npos) return;
    const std::string& known = executor->lane_address;
    copies_.offered(from, m.transfer, known.substr(0, known.rfind(':')) + m.address.substr(port),
                    parts_.loop.now());
    carry_out();
  });
  parts_.messages.on<DataNotOffered>([this](const ExecutorId& from, const DataNotOffered& m) {
    if (parts_.far != nullptr && parts_.far->hear(from, m)) return;
    copies_.not_offered(from, m.transfer, {m.code, m.message}, parts_.loop.now());
    carry_out();
  });
  parts_.messages.on<DataFetched>([this](const ExecutorId& to, const DataFetched& m) {
    if (parts_.far != nullptr && parts_.far->hear(to, m)) return;
    copies_.fetched(to, m.transfer, parts_.loop.now());
    carry_out();
  });
  parts_.messages.on<DataNotFetched>([this](const ExecutorId& to, const DataNotFetched& m) {
    if (parts_.far != nullptr && parts_.far->hear(to, m)) return;
    copies_.not_fetched(to, m.transfer, m.have, {m.code, m.message}, parts_.loop.now());
    carry_out();
  });
  parts_.messages.on<SpareFor>([this](const ExecutorId& at, const SpareFor& m) { hear(at, m); });
}

const Executor* DataCopyService::receiver(const ExecutorId& id) const {
  const Executor* executor = parts_.broker.hosts().find(id);
  const bool may = executor != nullptr && executor->state == ExecutorState::connected &&
                   executor->copies_data && executor->data_memory;
  return may ? executor : nullptr;
}

bool DataCopyService::can_send(const ExecutorId& id) const {
  const Executor* executor = receiver(id);
  return executor != nullptr && !executor->lane_address.empty();
}

Result<void> DataCopyService::begin(const DataObject& object, const DataHolder& to) {
  const MonotonicTime now = parts_.loop.now();
  if (const auto paused = not_before_.find({object.id, to.executor}); paused != not_before_.end()) {
    if (now < paused->second.until) return fail(paused->second.why);
  }
  if (object.expires <= now) return fail(ErrorCode::not_found, "its time is over");
  // Rooms are not charged for copies that could only wait.
  if (copies_.count_to(to.executor) >= options_.copies.receives)
    return fail(ErrorCode::no_capacity, "the host " + to.host + " receives as many copies as it " +
                                            "may at a time: try again");
  const Executor* there = receiver(to.executor);
  if (there == nullptr)
    return fail(ErrorCode::unreachable, "the executor on the host " + to.host +
                                            " is not connected, or is too old to copy data");
  if (object.bytes > *there->data_memory)
    return fail(ErrorCode::unsupported, "'" + label_of(object) + "' does not fit on the host " +
                                            to.host + ", which keeps " +
                                            to_string(*there->data_memory) +
                                            " for data: start its executor with a larger "
                                            "--data-memory");
  const bool may_be_sent = std::ranges::any_of(object.holders, [&](const DataHolder& holder) {
    const Executor* executor = parts_.broker.hosts().find(holder.executor);
    return executor != nullptr && executor->copies_data && !executor->lane_address.empty();
  });
  if (!may_be_sent)
    return fail(
        ErrorCode::unsupported,
        "no executor that has '" + label_of(object) +
            "' can send it: start executors with --lane-listen, an address for other hosts");
  auto begun = copies_.begin(object.id, to, now);
  if (begun)
    log::info("event=copy_begun data={} to={} bytes={}", to_string(object.id), to.executor.value(),
              object.bytes.value);
  return begun;
}

void DataCopyService::tell_wish(const DataObject& object,
                                const std::optional<ExecutorId>& besides) {
  for (const auto* holders : {&object.holders, &object.arriving})
    for (const DataHolder& holder : *holders)
      if (const Executor* executor = parts_.broker.hosts().find(holder.executor);
          executor != nullptr && executor->copies_data && holder.executor != besides)
        parts_.send(holder.executor, WishCopies{object.id, object.copies});
}

void DataCopyService::want(const DataObject& object, std::uint32_t copies) {
  parts_.catalogue.want_copies(object.id, copies);
  tell_wish(object, std::nullopt);
  auto paused = not_before_.lower_bound({object.id, ExecutorId("")});
  while (paused != not_before_.end() && paused->first.first == object.id)
    paused = not_before_.erase(paused);
  Work left{.objects = 1, .places = parts_.broker.hosts().executors().size()};
  make_up_for(object, parts_.loop.now(), left);
  carry_out();
}

Result<void> DataCopyService::copy_to(const DataObject& object, std::string_view host) {
  std::optional<Failure> why;
  for (const auto& [id, executor] : parts_.broker.hosts().executors()) {
    const bool is_meant = Capacity::name_of(executor) == host || executor.host.hostname == host;
    if (!is_meant || !executor.data_memory || !Capacity::serves(executor, object.tenant)) continue;
    auto begun = copy_to_executor(object, executor);
    if (begun) return begun;
    why = std::move(begun.error());
    if (why->code == ErrorCode::conflict) why->code = ErrorCode::unreachable;  // for a moment
  }
  if (why) return fail(std::move(*why));
  return fail(ErrorCode::not_found, "no executor on a host '" + std::string(host) +
                                        "' keeps data for you: see 'orchid hosts'");
}

Result<void> DataCopyService::copy_to_executor(const DataObject& object, const Executor& executor) {
  if (parts_.catalogue.has(executor.id, object.id)) return {};
  not_before_.erase({object.id, executor.id});
  auto begun = begin(object, {executor.id, Capacity::name_of(executor)});
  carry_out();
  return begun;
}

bool DataCopyService::hear(const ExecutorId& executor, const DataMade& message) {
  if (!parts_.catalogue.is_arriving(message.data, executor)) return false;
  copies_.made(executor, message.data, parts_.loop.now());
  carry_out();
  return true;
}

bool DataCopyService::hear(const ExecutorId& executor, const DataRefused& message) {
  if (!parts_.catalogue.is_arriving(message.data, executor)) return false;
  const DataObject* object = parts_.catalogue.sealed(message.data);
  const bool may_help = message.code == ErrorCode::no_data_memory && object != nullptr &&
                        made_room_for_.insert({message.data, executor}).second;
  if (may_help && make_room_at(executor, object->bytes)) {
    perform(MakeCopyRoom{executor, message.data});  // once more
    return true;
  }
  copies_.refused(executor, message.data, {message.code, message.message});
  carry_out();
  return true;
}

bool DataCopyService::hear(const ExecutorId& executor, const DataSealed& message) {
  if (!copies_.sealed(executor, message.data)) return false;
  carry_out();
  return true;
}

/// A copy that has ended may let a call begin, or have another one ordered for it.
void DataCopyService::carry_out() {
  for (bool has_ended = true; has_ended;) {
    for (const CopyAction& action : copies_.take_actions())
      std::visit([this](const auto& one) { perform(one); }, action);
    for (const DataDrop& drop : copies_.take_drops())
      parts_.send(drop.executor, DropData{drop.data});
    for (const DataDrop& drop : parts_.catalogue.take_orphans())
      parts_.send(drop.executor, DropData{drop.data});
    const auto over = copies_.take_ended();
    for (const CopyEnded& copy : over) ended(copy);
    has_ended = !over.empty();
    if (has_ended) look_after_gatherings(parts_.loop.now());
  }
}

void DataCopyService::perform(const MakeCopyRoom& action) {
  const DataObject* object = parts_.catalogue.sealed(action.data);
  if (object == nullptr) return;
  const MonotonicTime now = parts_.loop.now();
  MakeData message{.data = action.data,
                   .terms = {.tenant = object->tenant,
                             .bytes = object->bytes,
                             .name = object->name,
                             .version = object->version,
                             .expires_in = {},
                             .secret = object->secret,
                             .holder_uid = options_.owner,
                             .copies = object->copies,
                             .durable = object->durable},
                   .write_within = time_to_write(object->bytes),
                   .created_ago = std::chrono::duration_cast<milliseconds>(now - object->created)};
  // What an executor cannot read it would be told for ever.
  constexpr milliseconds longest = std::chrono::years(50);
  message.write_within = std::min(message.write_within, longest);
  message.created_ago = std::clamp(*message.created_ago, milliseconds(0), longest);
  if (object->expires != MonotonicTime::max())
    message.terms.expires_in =
        std::max(milliseconds(0), std::chrono::ceil<milliseconds>(object->expires - now));
  parts_.send(action.to, std::move(message));
}

void DataCopyService::perform(const OfferCopy& action) {
  parts_.send(action.from, OfferData{.data = action.data,
                                     .transfer = action.transfer,
                                     .key = action.key,
                                     .within = action.within});
}

void DataCopyService::perform(const FetchCopy& action) {
  parts_.send(action.to, FetchData{.data = action.data,
                                   .transfer = action.transfer,
                                   .key = action.key,
                                   .address = action.address,
                                   .within = action.within});
}

void DataCopyService::perform(const EndTransfer& action) {
  parts_.send(action.at, EndDataTransfer{action.data, action.transfer});
}

void DataCopyService::perform(const SealCopy& action) {
  const DataObject* object = parts_.catalogue.sealed(action.data);
  if (object == nullptr) return;
  parts_.send(action.to, SealData{.data = action.data, .order = object->order});
}

void DataCopyService::ended(const CopyEnded& copy) {
  made_room_for_.erase({copy.data, copy.to});
  if (!copy.why) {
    ++done_;
    not_before_.erase({copy.data, copy.to});
    arrived_[{copy.data, copy.to}] = parts_.loop.now() + options_.kept_for;
    if (const DataObject* object = parts_.catalogue.sealed(copy.data))
      bytes_ += object->bytes.value;
    log::info("event=copy_done data={} to={}", to_string(copy.data), copy.to.value());
    return;
  }
  ++failed_;
  log::warn("event=copy_failed data={} to={} code={} reason=\"{}\"", to_string(copy.data),
            copy.to.value(), to_string(copy.why->code), copy.why->message);
  Pause& pause = not_before_[{copy.data, copy.to}];
  pause.length = std::clamp(2 * pause.length, options_.pause, options_.longest_pause);
  pause.until = parts_.loop.now() + pause.length;
  pause.why = *copy.why;
}

void DataCopyService::executor_joined(const ExecutorId& executor) {
  std::erase_if(spared_, [&](const Copy& copy) { return copy.second == executor; });
  std::erase_if(not_before_, [&](const auto& entry) { return entry.first.second == executor; });
}

void DataCopyService::tick(MonotonicTime now) {
  copies_.tick(now);
  forget_recent(now);
  look_after_objects(now);
  look_after_gatherings(now);
  carry_out();
}

void DataCopyService::add_metrics(MetricsText& text) const {
  text.gauge("orchid_data_copies_under_way", "Copies of data objects on their way.",
             copies_.under_way());
  text.counter("orchid_data_copied_total", "Copies of data objects that were made.", done_);
  text.counter("orchid_data_copied_bytes_total", "Of these, bytes.", bytes_);
  text.counter("orchid_data_copies_failed_total", "Copies that were given up.", failed_);
  text.counter("orchid_data_copies_looked_at_total",
               "Objects that were looked at for a copy that they lack.", work_.objects);
  text.counter("orchid_data_copy_places_looked_at_total",
               "Executors that were looked at for a place for such a copy.", work_.places);
  text.gauge("orchid_data_calls_waiting", "Calls that wait for data to be copied.",
             gatherings_.size());
}

}  // namespace orchid::gateway
