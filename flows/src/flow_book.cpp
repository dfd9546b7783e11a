#include "flow_book.h"

#include <algorithm>
#include <deque>
#include <ranges>
#include <set>
#include <utility>

#include "flow/kept_variants.h"
#include "flow/plan_bytes.h"
#include "flow_run/host_looks.h"
#include "flow_run/preparations.h"
#include "foundation/log.h"

namespace orchid::flows {
namespace {

constexpr std::chrono::minutes clean_every{1};
/// For each flow.
constexpr std::chrono::milliseconds look_at_objects_every{200};
/// A flow's clock stands still while nobody runs it, so times in its journal only grow.
constexpr std::chrono::seconds longest_patience{60};
/// Of data that nobody needs: more is hardly under way when the process ends.
constexpr std::size_t most_dropped_again = 64;

}  // namespace

UnixMillis FlowBook::wall() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             parts_.clock.wall_now().time_since_epoch())
      .count();
}

Result<void> FlowBook::restore() {
  auto records = parts_.journal.flows();
  if (!records) return fail(std::move(records.error()));
  read_learned();
  for (FlowRecord& record : *records) {
    const std::string id = record.id;
    Entry& entry = flows_[id];
    entry.record = std::move(record);
    if (entry.record.done) {
      entry.brief = without_nodes(*entry.record.done);
      continue;
    }
    if (auto restored = restore(entry); !restored) {
      // It is left as it is: another version of this program may read it.
      log::error("event=flow_not_restored flow={} reason=\"{}\"", id, restored.error().message);
      entry.run.reset();
      entry.suspended = restored.error().message;
    }
  }
  if (parts_.find_calls) parts_.find_calls();
  return {};
}

/// From its plan, or else from what was submitted, which takes much longer.
Result<ReadyFlow> FlowBook::read(const FlowRecord& record) {
  if (auto stored = flow::parse_plan_bytes(parts_.journal.plan(record)))
    return ReadyFlow{.plan = std::move(stored->plan), .inputs = std::move(stored->inputs)};
  auto body = parts_.journal.body(record.id);
  if (!body) return fail(std::move(body.error()));
  auto submission = parse_submission(*body);
  if (!submission) return fail(std::move(submission.error()));
  auto functions = parse_known_versions(record.functions);
  if (!functions) return fail(std::move(functions.error()));
  return make_ready(*submission, finder_of(*functions));
}

/// From what is on disk to where it was; its open calls are asked for again, under their keys.
Result<void> FlowBook::restore(Entry& entry) {
  auto ready = read(entry.record);
  if (!ready) return fail(std::move(ready.error()));
  auto run = FlowRun::create(std::move(*ready));
  if (!run) return fail(std::move(run.error()));
  (*run)->set_kept(learned_);
  auto events = parts_.journal.events(entry.record.id);
  if (!events) return fail(std::move(events.error()));
  std::deque<DataId> dropped;  // the newest: the process before this one may not have got so far
  for (const JournalEvent& event : *events) {
    const FlowRun::Todo todo = (*run)->apply(event);
    dropped.insert(dropped.end(), todo.drop.begin(), todo.drop.end());
    while (dropped.size() > most_dropped_again) dropped.pop_front();
  }
  for (const DataId& data : dropped) parts_.calls.drop(data);
  entry.run = std::move(*run);
  entry.suspended.clear();
  entry.base = entry.run->last_at();
  entry.since = parts_.clock.now();
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, call] : entry.run->open_calls()) numbers.push_back(number);
  start_calls(entry, numbers);
  if (entry.run->events() == 0)
    if (auto begun = tell(entry, flow::Tick{}); !begun) suspend(entry, begun.error().message);
  if (entry.run->outcome() == flow::FlowOutcome::done) finish(entry);
  return {};
}

JournalEvent FlowBook::stamped(const Entry& entry, flow::Event event) const {
  const auto passed = std::chrono::duration_cast<flow::Time>(parts_.clock.now() - entry.since);
  return {.event = std::move(event), .at = entry.base + passed, .wall = wall()};
}

Result<void> FlowBook::tell(Entry& entry, flow::Event event) {
  const JournalEvent stamp = stamped(entry, std::move(event));
  const JournalEntry written{
      .flow = entry.record.id, .sequence = entry.run->events(), .event = &stamp};
  if (auto kept = parts_.journal.append({&written, 1}); !kept) return kept;
  apply(entry, stamp);
  return {};
}

/// All that has come goes to the disk at once. What cannot be kept there does not count; the
/// gateway knows the answers still.
void FlowBook::take_ends(std::vector<CallEnded> ends) {
  struct Told {
    Entry* entry;
    JournalEvent event;
  };
  std::vector<Told> told;
  std::map<Entry*, std::set<std::uint64_t>> seen;
  for (CallEnded& end : ends) {
    Entry* entry = find(end.flow);
    if (entry == nullptr || !entry->run || !entry->suspended.empty()) continue;
    const auto* answered = std::get_if<flow::Answered>(&end.event);
    const std::uint64_t number = answered != nullptr
                                     ? answered->call.number
                                     : std::get<flow::CallFailed>(end.event).call.number;
    if (!entry->run->open_calls().contains(number) || !seen[entry].insert(number).second) continue;
    told.push_back({.entry = entry, .event = stamped(*entry, std::move(end.event))});
  }
  std::vector<JournalEntry> written;
  std::map<Entry*, std::uint64_t> next;
  for (const Told& one : told) {
    std::uint64_t& sequence = next.try_emplace(one.entry, one.entry->run->events()).first->second;
    written.push_back({.flow = one.entry->record.id, .sequence = sequence++, .event = &one.event});
  }
  if (auto kept = parts_.journal.append(written); !kept) {
    for (const auto& [entry, sequence] : next) suspend(*entry, kept.error().message);
    return;
  }
  for (const Told& one : told) apply(*one.entry, one.event);
  for (const auto& [entry, sequence] : next)
    if (entry->run && entry->run->outcome() == flow::FlowOutcome::done) finish(*entry);
}

void FlowBook::apply(Entry& entry, const JournalEvent& event) {
  const FlowRun::Todo todo = entry.run->apply(event);
  for (const std::uint64_t number : todo.stop) parts_.calls.stop(entry.record.id, number);
  start_calls(entry, todo.start);
  for (const DataId& data : todo.drop) parts_.calls.drop(data);
  const flow::Plan& plan = entry.run->plan();
  for (const flow::Prepare& next : todo.prepare)
    parts_.calls.prepare(entry.record.id,
                         flow::calls_ahead(plan, plan.nodes[next.node], next.data));
}

void FlowBook::start_calls(Entry& entry, const std::vector<std::uint64_t>& numbers) {
  constexpr std::chrono::hours usual_deadline{1};
  for (const std::uint64_t number : numbers) {
    const auto found = entry.run->open_calls().find(number);
    if (found == entry.run->open_calls().end()) continue;  // it was stopped at once
    const flow::StartCall& call = found->second;
    const flow::PlannedNode& node = entry.run->plan().nodes[call.node];
    parts_.calls.start({.flow = entry.record.id,
                        .number = number,
                        .function = flow::exact_name(entry.run->plan(), call.function->function),
                        .signature = call.function->signature,
                        .input = call.input,
                        .data = call.data,
                        .keeps = call.keeps,
                        .kept = call.kept,
                        .deadline = node.deadline.count() == 0
                                        ? std::chrono::nanoseconds(usual_deadline)
                                        : node.deadline,
                        .device = call.device,
                        .host_kind = node.constraints.kind,
                        .cluster = node.constraints.cluster});
  }
}

/// It goes on when somebody says so, or when this process is started again.
void FlowBook::suspend(Entry& entry, const std::string& why) {
  log::error("event=flow_suspended flow={} reason=\"{}\"", entry.record.id, why);
  entry.suspended = why;
  if (entry.run) entry.run->note("suspended: " + why, wall());
  parts_.calls.forget(entry.record.id);
}

/// Until it is written down as done, its events say the same.
/// What cannot be read is learned again.
void FlowBook::read_learned() {
  const auto text = parts_.journal.learned();
  if (!text || text->empty()) return;
  if (auto kept = flow::parse_kept_variants(*text))
    learned_ = std::move(*kept);
  else
    log::warn("event=learned_not_read reason=\"{}\"", kept.error().message);
}

void FlowBook::keep_learned(std::vector<flow::KeptVariants> learned) {
  if (learned.empty()) return;
  learned_ = flow::with_learned(std::move(learned_), std::move(learned));
  if (auto kept = parts_.journal.keep_learned(flow::to_json(learned_)); !kept)
    log::warn("event=learned_not_kept reason=\"{}\"", kept.error().message);
}

void FlowBook::finish(Entry& entry) {
  DoneFlow done{
      .at = entry.run->last_wall(), .summary = document_of(entry), .log = entry.run->log()};
  auto outputs = entry.run->outputs();
  if (!outputs) return suspend(entry, outputs.error().message);
  if (auto kept = parts_.journal.finish(entry.record.id, done, *outputs); !kept)
    return suspend(entry, kept.error().message);
  log::info("event=flow_done flow={}", entry.record.id);
  entry.brief = brief_of(entry);
  entry.record.done = std::move(done);
  keep_learned(entry.run->learned());
  entry.run.reset();
  parts_.calls.forget(entry.record.id);
}

Result<void> FlowBook::forget(const std::string& id) {
  if (auto removed = parts_.journal.remove(id); !removed) return removed;
  Entry& entry = flows_.at(id);
  if (entry.run)
    for (const auto& [number, call] : entry.run->open_calls()) parts_.calls.stop(id, number);
  parts_.calls.forget(id);
  flows_.erase(id);
  return {};
}

void FlowBook::forget_old() {
  std::vector<std::string> old;
  const UnixMillis before = wall() - options_.keep.count();
  for (const auto& [id, entry] : flows_) {
    const UnixMillis ended = entry.record.done ? entry.record.done->at
                             : entry.run       ? entry.run->last_wall()
                                               : wall();
    if (has_ended(entry) && ended < before) old.push_back(id);
  }
  for (const std::string& id : old)
    if (auto gone = forget(id); !gone)
      log::warn("event=flow_not_removed flow={} reason=\"{}\"", id, gone.error().message);
}

bool FlowBook::take(std::vector<Arrival> arrivals) {
  std::vector<CallEnded> ends;
  for (Arrival& arrival : arrivals)
    if (auto* end = std::get_if<CallEnded>(&arrival)) ends.push_back(std::move(*end));
  take_ends(std::move(ends));
  for (Arrival& arrival : arrivals) {
    if (std::holds_alternative<GatewayGone>(arrival)) return false;
    if (auto* asked = std::get_if<Asked>(&arrival)) handle(std::move(*asked));
    if (auto* checked = std::get_if<Checked>(&arrival)) handle(std::move(*checked));
    if (const auto* seen = std::get_if<HostsSeen>(&arrival)) see_hosts(*seen);
    if (auto* seen = std::get_if<ObjectsSeen>(&arrival)) see_objects(std::move(*seen));
    if (auto* found = std::get_if<CallsFound>(&arrival)) see_calls(std::move(*found));
  }
  return true;
}

/// They are looked at before a flow's first decision, and again from time to time. False: an answer
/// is to come without which it begins to no good.
bool FlowBook::knows_hosts(const FlowRun& run) {
  if (!parts_.look_at_hosts) return true;
  const bool are_old =
      !hosts_seen_ || parts_.clock.now() - *hosts_seen_ >= flow::look_at_hosts_every;
  if (!looks_at_hosts_ && (are_old || !run.was_told_of_hosts())) {
    looks_at_hosts_ = true;
    parts_.look_at_hosts();
  }
  return run.was_told_of_hosts();
}

void FlowBook::see_hosts(const HostsSeen& seen) {
  looks_at_hosts_ = false;
  hosts_seen_ = parts_.clock.now();
  for (auto& [id, entry] : flows_)
    if (entry.run && entry.run->is_optimised()) entry.run->see_hosts(seen.hosts);
}

/// Decisions do not wait for it: a flow begins well enough without. Nodes that change one after the
/// other are looked at together.
void FlowBook::want_objects(Entry& entry) {
  const MonotonicTime now = parts_.clock.now();
  if (!is_to_look_at_objects(entry) || now < entry.look_at_objects_at) return;
  entry.look_at_objects_at = now + look_at_objects_every;
  auto wanted = entry.run->wanted_objects();
  if (wanted.empty()) return;
  entry.looks_at_objects = true;
  parts_.look_at_objects(entry.record.id, std::move(wanted));
}

bool FlowBook::is_to_look_at_objects(const Entry& entry) const {
  return parts_.look_at_objects && !entry.looks_at_objects && entry.run->may_want_objects();
}

void FlowBook::see_objects(ObjectsSeen seen) {
  Entry* entry = find(seen.flow);
  if (entry == nullptr) return;
  entry->looks_at_objects = false;
  if (entry->run && entry->run->is_optimised()) entry->run->see_objects(std::move(seen.objects));
}

/// Whoever wrote down that a flow is cancelled, has failed or is deleted may have ended before its
/// calls were stopped.
void FlowBook::see_calls(CallsFound found) {
  std::erase_if(found.calls, [this](const CallLeft& call) { return wants(call); });
  if (!found.calls.empty()) parts_.cancel_calls(std::move(found.calls));
}

bool FlowBook::wants(const CallLeft& call) {
  const Entry* entry = find(call.flow);
  if (entry == nullptr || entry->record.done) return false;
  return !entry->run || entry->run->open_calls().contains(call.number);
}

/// A decision is an event like others: on disk before it counts, so that whoever goes on from the
/// journal has the same calls.
void FlowBook::tune(Entry& entry) {
  if (!entry.run || !entry.suspended.empty() || !entry.run->is_optimised()) return;
  want_objects(entry);
  if (!knows_hosts(*entry.run)) return;
  auto decided = entry.run->decide(stamped(entry, flow::Tick{}).at);
  if (!decided) return;
  if (auto told = tell(entry, std::move(*decided)); !told) suspend(entry, told.error().message);
}

void FlowBook::look_around() {
  for (auto& [id, entry] : flows_) {
    tune(entry);
    if (!entry.run || !entry.suspended.empty() || !entry.run->wake()) continue;
    if (stamped(entry, flow::Tick{}).at < *entry.run->wake()) continue;
    if (auto told = tell(entry, flow::Tick{}); !told) suspend(entry, told.error().message);
    if (entry.run->outcome() == flow::FlowOutcome::done) finish(entry);
  }
  if (const MonotonicTime now = parts_.clock.now(); now >= next_cleaning_) {
    next_cleaning_ = now + clean_every;
    forget_old();
  }
  answer_waiting();
}

std::chrono::nanoseconds FlowBook::patience() const {
  const auto is_tuned = [](const auto& flow) {
    const Entry& entry = flow.second;
    return entry.run && entry.suspended.empty() && entry.run->is_optimised();
  };
  const MonotonicTime now = parts_.clock.now();
  std::chrono::nanoseconds patience = std::min<std::chrono::nanoseconds>(
      longest_patience, std::max<std::chrono::nanoseconds>(next_cleaning_ - now, {}));
  for (const Waiting& one : waiting_)
    patience = std::min<std::chrono::nanoseconds>(
        patience, std::max<std::chrono::nanoseconds>(one.until - now, {}));
  if (hosts_seen_ && !looks_at_hosts_ && std::ranges::any_of(flows_, is_tuned))
    patience = std::min<std::chrono::nanoseconds>(
        patience,
        std::max<std::chrono::nanoseconds>(*hosts_seen_ + flow::look_at_hosts_every - now, {}));
  for (const auto& flow : flows_)
    if (is_tuned(flow) && is_to_look_at_objects(flow.second))
      patience = std::min<std::chrono::nanoseconds>(
          patience, std::max<std::chrono::nanoseconds>(flow.second.look_at_objects_at - now, {}));
  for (const auto& [id, entry] : flows_) {
    if (!entry.run || !entry.suspended.empty() || !entry.run->wake()) continue;
    const auto left = *entry.run->wake() - stamped(entry, flow::Tick{}).at;
    patience = std::min(patience, std::max<std::chrono::nanoseconds>(left, {}));
  }
  return patience;
}

}  // namespace orchid::flows
