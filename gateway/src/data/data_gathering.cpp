// Calls whose data is on several executors: where they run, and when all of it is there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <ranges>
#include <tuple>
#include <utility>

#include "data/data_copy_service.h"

namespace orchid::gateway {
namespace {

using Objects = std::vector<const DataObject*>;

/// "climate@3 (1 GiB) is on n17 (executor e1) and n18 (executor e2)".
std::string whereabouts(const DataObject& object) {
  std::vector<std::string> hosts;
  for (const DataHolder& holder : object.holders)
    hosts.push_back(fmt::format("{} (executor {})", holder.host, holder.executor.value()));
  return fmt::format("{} ({}) is on {}", label_of(object), to_string(object.bytes),
                     fmt::join(hosts, " and "));
}

/// "climate@3 (1 GiB) and rain@1 (2 MiB), which are to be copied to the host n17".
std::string what_is_missing(const Objects& missing, const DataHolder& at) {
  std::vector<std::string> labels;
  for (const DataObject* object : missing)
    labels.push_back(fmt::format("{} ({})", label_of(*object), to_string(object->bytes)));
  return fmt::format("{}, to be copied to the host {}", fmt::join(labels, " and "), at.host);
}

/// How far the data is on its way to an executor that has none of it yet.
struct Candidate {
  DataHolder holder;
  std::uint64_t arriving = 0;
  bool has_room = false;
  bool is_near = false;  // to a holder
  MonotonicTime ends{};
  std::uint64_t free = 0;
  [[nodiscard]] auto rank() const { return std::tuple(arriving, has_room, is_near, ends, free); }
};

CallData call_data(const Objects& objects, const DataHolder& at) {
  CallData data;
  for (const DataObject* object : objects) {
    data.ids.push_back(object->id);
    data.labels.push_back(label_of(*object));
  }
  data.at = placement::GrantId(at.executor.value());
  data.host = at.host;
  const Objects missing = missing_at(at.executor, objects);
  if (!missing.empty()) data.waits_for = what_is_missing(missing, at);
  if (missing.size() == objects.size())
    data.waits_for += ", since no host that has any of it could run the call";
  return data;
}

bool is_about_room(const Failure& why) {
  return why.code == ErrorCode::no_data_memory || why.code == ErrorCode::quota;
}

/// `unreachable`: it may be otherwise in a while.
Failure elsewhere(const Objects& objects, const std::optional<Failure>& why) {
  if (why && why->code == ErrorCode::no_capacity) return {ErrorCode::unreachable, why->message};
  const bool is_for_good = !why || why->code == ErrorCode::unsupported;
  std::vector<std::string> where;
  for (const DataObject* object : objects) where.push_back(whereabouts(*object));
  return {
      is_for_good ? ErrorCode::data_elsewhere : ErrorCode::unreachable,
      fmt::format("no executor has all data of the call, and it cannot be copied to one: {}. {}",
                  why ? why->message : "none of them copies data (executors with --lane-listen do)",
                  fmt::join(where, "; "))};
}

}  // namespace

Result<DataCopyService::Objects> DataCopyService::find_all(
    uid_t tenant, std::span<const DataReference> references) const {
  Objects objects;
  for (const DataReference& reference : references) {
    auto found = parts_.find(tenant, reference);
    if (!found) return fail(std::move(found.error()));
    objects.push_back(*found);
  }
  return objects;
}

/// Where the objects are to be, and what that lacks is on its way. Nothing: nowhere. When no
/// executor at all could run the call, whoever looks for its worker says why. One whose owner has
/// taken all cores back is waited for only when there is no other one.
std::optional<DataHolder> DataCopyService::place_call(const Objects& objects,
                                                      const placement::WorkerRequest& worker,
                                                      std::optional<Failure>& failed) {
  CallHolders holders = holders_for(objects, worker);
  if (!holders.all.empty() && holders.unfit.size() == holders.all.size()) {
    const auto found = bring_elsewhere(objects, worker, failed);
    if (found || failed) return found;
    holders.unfit.clear();
  }
  std::set<ExecutorId> unfit = holders.unfit;
  unfit.insert(holders.left.begin(), holders.left.end());
  std::set<ExecutorId> away = unfit;
  away.insert(holders.away.begin(), holders.away.end());
  std::set<ExecutorId> besides = away;
  for (const ExecutorId& holder : holders.all)
    if (receiver(holder) == nullptr) besides.insert(holder);
  const auto has_all = [&](const std::optional<DataHolder>& at) {
    return at && missing_at(at->executor, objects).empty();
  };
  if (const auto best = best_for_call(objects, away); has_all(best)) return best;
  while (auto best = best_for_call(objects, besides)) {
    auto brought = bring(*best, missing_at(best->executor, objects));
    if (brought) return best;
    failed = std::move(brought.error());
    besides.insert(best->executor);
  }
  if (!holders.left.empty()) {
    if (const auto found = bring_elsewhere(objects, worker, failed)) return found;
    failed = no_cores_at(holders.left, failed);
    return std::nullopt;
  }
  // Its executor may come back.
  if (const auto best = best_for_call(objects, unfit); has_all(best)) return best;
  return std::nullopt;
}

DataCopyService::CallHolders DataCopyService::holders_for(
    const Objects& objects, const placement::WorkerRequest& worker) const {
  CallHolders holders;
  for (const DataObject* object : objects)
    for (const DataHolder& holder : object->holders) holders.all.insert(holder.executor);
  for (const ExecutorId& holder : holders.all) {
    const Executor* executor = parts_.broker.hosts().find(holder);
    // One that drains gives no workers any more.
    if (executor == nullptr || executor->state != ExecutorState::connected ||
        executor->grant.draining)
      holders.away.insert(holder);
    if (parts_.broker.is_left(holder, objects.front()->tenant, worker))
      holders.left.insert(holder);
    else if (!parts_.broker.could_give_dispatchers(holder, worker))
      holders.unfit.insert(holder);
  }
  return holders;
}

/// They may have some again at any time. `why`: it could not be copied from there.
Failure DataCopyService::no_cores_at(const std::set<ExecutorId>& holders,
                                     const std::optional<Failure>& why) const {
  std::vector<std::string> names;
  for (const ExecutorId& holder : holders)
    names.push_back(Capacity::name_of(*parts_.broker.hosts().find(holder)));
  return {ErrorCode::no_capacity,
          fmt::format(
              "the host of its data, {}, has no cores for Orchid now{}", fmt::join(names, " and "),
              why ? ", and the data cannot be copied to another one: " + why->message : "")};
}

/// One that has no cores now does not count where others have.
bool DataCopyService::could_run(const ExecutorId& executor, const LeaseTenant& tenant,
                                const placement::WorkerRequest& worker) const {
  return parts_.broker.could_give_dispatchers(executor, worker) &&
         !parts_.broker.is_left(executor, tenant, worker);
}

/// An executor that could run the call, and where all of them are on their way: asked for each call
/// that waits, ten times a second.
std::optional<DataHolder> DataCopyService::on_their_way(
    const Objects& objects, const placement::WorkerRequest& worker) const {
  for (const DataHolder& to : objects.front()->arriving) {
    const bool all = std::ranges::all_of(objects, [&](const DataObject* object) {
      return parts_.catalogue.has(to.executor, object->id);
    });
    if (all && could_run(to.executor, objects.front()->tenant, worker)) return to;
  }
  return std::nullopt;
}

/// To an executor that has none of them and could run the call; first where they are on their way.
/// Nothing: there is none, or it cannot be done, which is then in `failed`. Two are tried, so that
/// a call one of whose objects fits nowhere does not fill all of them with the others.
std::optional<DataHolder> DataCopyService::bring_elsewhere(const Objects& objects,
                                                           const placement::WorkerRequest& worker,
                                                           std::optional<Failure>& failed) {
  constexpr std::size_t tried = 2;
  if (auto found = on_their_way(objects, worker)) return found;
  std::uint64_t bytes = 0;
  for (const DataObject* object : objects) bytes += object->bytes.value;
  const auto is_near_one = [&](const Executor& executor) {
    return std::ranges::any_of(objects.front()->holders, [&](const DataHolder& holder) {
      const Executor* other = parts_.broker.hosts().find(holder.executor);
      return other != nullptr && distance_between(*other, executor) != Distance::elsewhere;
    });
  };
  std::vector<Candidate> candidates;
  for (const CopyPlace& place : places_for(*objects.front(), parts_.loop.now())) {
    const Executor* executor = receiver(place.holder.executor);
    if (executor == nullptr || executor->grant.draining ||
        !could_run(executor->id, objects.front()->tenant, worker))
      continue;
    Candidate candidate{.holder = place.holder,
                        .has_room = place.free.value >= bytes,
                        .is_near = is_near_one(*executor),
                        .ends = place.ends,
                        .free = place.free.value};
    for (const DataObject* object : objects)
      if (parts_.catalogue.is_arriving(object->id, place.holder.executor))
        candidate.arriving += 1 + object->bytes.value;
    candidates.push_back(std::move(candidate));
  }
  std::ranges::sort(candidates, std::ranges::greater{}, &Candidate::rank);
  for (const Candidate& candidate : candidates | std::views::take(tried)) {
    auto brought = bring(candidate.holder, objects);
    if (brought) return candidate.holder;
    failed = std::move(brought.error());
  }
  return std::nullopt;
}

/// What has yet to be dropped there comes once it is, and what is too much now when others have
/// come.
Result<void> DataCopyService::bring(const DataHolder& to, const Objects& missing) {
  for (const DataObject* object : missing) {
    if (parts_.catalogue.is_arriving(object->id, to.executor)) continue;
    auto begun = begin(*object, to);
    const bool comes_later = !begun && (begun.error().code == ErrorCode::conflict ||
                                        begun.error().code == ErrorCode::no_capacity);
    if (!begun && !comes_later) return begun;
  }
  return {};
}

Result<std::shared_ptr<const CallData>> DataCopyService::for_call(
    uid_t tenant, std::string_view names, const placement::WorkerRequest& worker) {
  const auto references = parse_data_list(names);
  if (!references) return fail(references.error());
  auto objects = find_all(tenant, *references);
  if (!objects) return fail(std::move(objects.error()));
  std::optional<Failure> failed;
  const auto at = place_call(*objects, worker, failed);
  carry_out();
  if (!at) return fail(elsewhere(*objects, failed));
  CallData data = call_data(*objects, *at);
  auto keeper = parts_.keep(data.ids);
  return given(std::move(data), std::move(keeper));
}

/// Other calls may be given the same for a moment, without asking again (RecentCallData): it lives
/// here until then.
std::shared_ptr<const CallData> DataCopyService::given(CallData data,
                                                       std::shared_ptr<const void> keeper) {
  data.keeper = std::move(keeper);
  data.as_of = parts_.catalogue.changes().load();
  auto found = std::make_shared<const CallData>(std::move(data));
  const MonotonicTime now = parts_.loop.now();
  forget_recent(now);
  if (found->waits_for.empty() && recent_.size() < options_.recent)
    recent_.push_back({now + options_.recent_for, found});
  return found;
}

void DataCopyService::forget_recent(MonotonicTime now) {
  const std::uint64_t changes = parts_.catalogue.changes().load();
  std::erase_if(recent_, [&](const Recent& recent) {
    return recent.until <= now || recent.data->as_of != changes;
  });
}

void DataCopyService::gather(CallDataFinder::Wait wait, Done done) {
  const auto references = parse_data_list(wait.names);
  if (!references) return done(fail(references.error()));
  const auto objects = find_all(wait.tenant, *references);
  if (!objects) return done(fail(objects.error()));
  std::vector<DataId> ids;
  for (const DataObject* object : *objects) ids.push_back(object->id);
  Gathering gathering{.wait = std::move(wait), .keeper = parts_.keep(ids), .done = std::move(done)};
  for (const DataId& id : ids) gathering.ids.push_back({.id = id});
  auto result = look_after(gathering, parts_.loop.now());
  carry_out();
  if (result) return gathering.done(std::move(*result));
  const auto own = std::ranges::count_if(gatherings_, [&](const Gathering& other) {
    return other.wait.tenant == gathering.wait.tenant;
  });
  if (gatherings_.size() >= options_.waiting_calls ||
      static_cast<std::size_t>(own) >= options_.waiting_calls_of_tenant)
    return gathering.done(
        fail(ErrorCode::no_capacity,
             "as many calls wait for data as may at a time; it is being copied: try again, or call "
             "without waiting (Prefer: respond-async)"));
  gatherings_.push_back(std::move(gathering));
}

CallDataFinder DataCopyService::finder() {
  return {.find =
              [this](uid_t tenant, std::string_view names, const placement::WorkerRequest& worker) {
                return for_call(tenant, names, worker);
              },
          .gather = [this](CallDataFinder::Wait wait,
                           Done done) { gather(std::move(wait), std::move(done)); },
          .changes = &parts_.catalogue.changes()};
}

/// Nothing: it waits on.
std::optional<Result<std::shared_ptr<const CallData>>> DataCopyService::look_after(
    Gathering& gathering, MonotonicTime now) {
  if (gathering.wait.client_gone && *gathering.wait.client_gone)
    return fail(ErrorCode::cancelled, "the client has gone while its call waited for data");
  const bool may_wait = now < gathering.wait.deadline;
  auto objects = find_all(gathering.wait.tenant, gathering.ids);
  if (!objects) {
    // Its executor may come back.
    if (may_wait && objects.error().code == ErrorCode::unreachable) return std::nullopt;
    return fail(std::move(objects.error()));
  }
  std::optional<Failure> failed;
  const auto at = place_call(*objects, gathering.wait.worker, failed);
  if (!at) {
    Failure why = elsewhere(*objects, failed);
    // A copy that has failed is tried again; that there is no room is told at once.
    if (may_wait && why.code == ErrorCode::unreachable && !is_about_room(*failed))
      return std::nullopt;
    const bool has_no_cores = failed && failed->code == ErrorCode::no_capacity;
    why.code = has_no_cores ? ErrorCode::no_capacity : ErrorCode::data_elsewhere;
    return fail(std::move(why));
  }
  CallData data = call_data(*objects, *at);
  if (data.waits_for.empty()) return given(std::move(data), gathering.keeper);
  if (may_wait) return std::nullopt;
  return fail(ErrorCode::timed_out,
              "the call has not begun by its deadline: it waited for " + data.waits_for);
}

void DataCopyService::look_after_gatherings(MonotonicTime now) {
  // A call that is told may name the next one.
  std::vector<std::pair<Done, Result<std::shared_ptr<const CallData>>>> over;
  for (auto gathering = gatherings_.begin(); gathering != gatherings_.end();) {
    auto result = look_after(*gathering, now);
    if (!result) {
      ++gathering;
      continue;
    }
    over.emplace_back(std::move(gathering->done), std::move(*result));
    gathering = gatherings_.erase(gathering);
  }
  for (auto& [done, result] : over) done(std::move(result));
}

}  // namespace orchid::gateway
