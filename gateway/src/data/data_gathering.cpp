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

Failure elsewhere(const Objects& objects, const std::optional<Failure>& why) {
  std::vector<std::string> where;
  for (const DataObject* object : objects) where.push_back(whereabouts(*object));
  return {
      ErrorCode::data_elsewhere,
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
std::optional<DataHolder> DataCopyService::place_call(const Objects& objects, Attempts& attempts) {
  std::set<ExecutorId> away;
  std::set<ExecutorId> besides = attempts.tried;
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
    attempts.failed = std::move(brought.error());
    attempts.tried.insert(best->executor);
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
  Attempts attempts;
  const auto at = place_call(*objects, attempts);
  carry_out();
  if (!at) return fail(elsewhere(*objects, attempts.failed));
  CallData data = call_data(*objects, *at);
  data.keeper = parts_.keep(data.ids);
  return std::make_shared<const CallData>(std::move(data));
}

void DataCopyService::gather(uid_t tenant, const std::string& names, MonotonicTime deadline,
                             Done done) {
  auto data = for_call(tenant, names);
  if (!data || (*data)->waits_for.empty()) return done(std::move(data));
  const auto own = std::ranges::count(gatherings_, tenant, &Gathering::tenant);
  if (gatherings_.size() >= options_.waiting_calls ||
      static_cast<std::size_t>(own) >= options_.waiting_calls_of_tenant)
    return done(fail(ErrorCode::no_capacity,
                     "as many calls wait for data as may at a time; it is being copied: try again, "
                     "or call without waiting (Prefer: respond-async)"));
  Gathering gathering{
      .tenant = tenant, .keeper = (*data)->keeper, .deadline = deadline, .done = std::move(done)};
  for (const DataId& id : (*data)->ids) gathering.names.push_back({.id = id});
  gatherings_.push_back(std::move(gathering));
}

CallDataFinder DataCopyService::finder() {
  return {.find = [this](uid_t tenant, std::string_view names) { return for_call(tenant, names); },
          .gather = [this](uid_t tenant, const std::string& names, MonotonicTime deadline,
                           Done done) { gather(tenant, names, deadline, std::move(done)); }};
}

/// Nothing: it waits on.
std::optional<Result<std::shared_ptr<const CallData>>> DataCopyService::look_after(
    Gathering& gathering, MonotonicTime now) {
  auto objects = find_all(gathering.tenant, gathering.names);
  if (!objects) {
    // Its executor may come back.
    const bool may_wait =
        objects.error().code == ErrorCode::unreachable && now < gathering.deadline;
    if (may_wait) return std::nullopt;
    return fail(std::move(objects.error()));
  }
  const auto at = place_call(*objects, gathering.attempts);
  if (!at) return fail(elsewhere(*objects, gathering.attempts.failed));
  CallData data = call_data(*objects, *at);
  if (data.waits_for.empty()) {
    data.keeper = gathering.keeper;
    return std::make_shared<const CallData>(std::move(data));
  }
  if (now < gathering.deadline) return std::nullopt;
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
