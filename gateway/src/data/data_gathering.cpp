// Calls whose data is on several executors: where they run, and when all of it is there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

CallData call_data(const Objects& objects, const DataHolder& at) {
  CallData data;
  for (const DataObject* object : objects) {
    data.ids.push_back(object->id);
    data.labels.push_back(label_of(*object));
  }
  data.at = placement::GrantId(at.executor.value());
  data.host = at.host;
  if (const Objects missing = missing_at(at.executor, objects); !missing.empty())
    data.waits_for = what_is_missing(missing, at);
  return data;
}

bool is_about_room(const Failure& why) {
  return why.code == ErrorCode::no_data_memory || why.code == ErrorCode::quota;
}

/// `unreachable`: it may be otherwise in a while.
Failure elsewhere(const Objects& objects, const std::optional<Failure>& why) {
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

/// Where the objects are to be, and what that lacks is on its way. Nothing: nowhere.
std::optional<DataHolder> DataCopyService::place_call(const Objects& objects,
                                                      std::optional<Failure>& failed) {
  std::set<ExecutorId> away;
  std::set<ExecutorId> besides;
  for (const DataObject* object : objects)
    for (const DataHolder& holder : object->holders) {
      const Executor* executor = parts_.broker.hosts().find(holder.executor);
      // One that drains gives no workers any more.
      if (executor == nullptr || executor->state != ExecutorState::connected ||
          executor->grant.draining)
        away.insert(holder.executor);
      if (receiver(holder.executor) == nullptr || away.contains(holder.executor))
        besides.insert(holder.executor);
    }
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
  // Its executor may come back.
  if (const auto best = best_for_call(objects); has_all(best)) return best;
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

Result<std::shared_ptr<const CallData>> DataCopyService::for_call(uid_t tenant,
                                                                  std::string_view names) {
  const auto references = parse_data_list(names);
  if (!references) return fail(references.error());
  auto objects = find_all(tenant, *references);
  if (!objects) return fail(std::move(objects.error()));
  std::optional<Failure> failed;
  const auto at = place_call(*objects, failed);
  carry_out();
  if (!at) return fail(elsewhere(*objects, failed));
  CallData data = call_data(*objects, *at);
  data.keeper = parts_.keep(data.ids);
  return std::make_shared<const CallData>(std::move(data));
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
  return {.find = [this](uid_t tenant, std::string_view names) { return for_call(tenant, names); },
          .gather = [this](CallDataFinder::Wait wait,
                           Done done) { gather(std::move(wait), std::move(done)); }};
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
  const auto at = place_call(*objects, failed);
  if (!at) {
    Failure why = elsewhere(*objects, failed);
    // A copy that has failed is tried again; that there is no room is told at once.
    if (may_wait && why.code == ErrorCode::unreachable && !is_about_room(*failed))
      return std::nullopt;
    why.code = ErrorCode::data_elsewhere;
    return fail(std::move(why));
  }
  CallData data = call_data(*objects, *at);
  if (data.waits_for.empty()) {
    data.keeper = gathering.keeper;
    return std::make_shared<const CallData>(std::move(data));
  }
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
