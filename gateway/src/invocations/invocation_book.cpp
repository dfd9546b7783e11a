#include "invocations/invocation_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <ranges>

#include "calls/worker_for.h"

namespace orchid::gateway {
namespace {

/// What has become of the data shows when a call begins.
placement::WorkerRequest worker_of(const InvocationLineKey& key) {
  const auto needs = key.function != nullptr ? key.function->get() : nullptr;
  return worker_for(needs.get(), key.hosts,
                    {.kind = key.kind, .device = key.device, .cluster = key.cluster});
}

}  // namespace

InvocationBook::InvocationBook(Limits limits, std::size_t runners)
    : limits_(limits), runners_(runners) {
  assert(runners > 0);
}

Result<void> InvocationBook::check_room(std::size_t on_the_way) const {
  if (queued_count() + on_the_way < limits_.queued) return {};
  return fail(ErrorCode::quota,
              std::to_string(limits_.queued) +
                  " asynchronous invocations are waiting already: try again later");
}

/// Names are the callers', and each that waits has a line of its own.
Result<void> InvocationBook::check_cluster_room(const std::string& cluster) const {
  if (cluster.empty()) return {};
  const std::set<std::string> waiting = waiting_clusters();
  if (waiting.size() < limits_.clusters || waiting.contains(cluster)) return {};
  return fail(ErrorCode::quota,
              fmt::format("asynchronous invocations wait for {} clusters already: name one that "
                          "'orchid hosts' shows, or try again later",
                          limits_.clusters));
}

std::set<std::string> InvocationBook::waiting_clusters() const {
  std::set<std::string> names;
  for (const auto& [key, line] : lines_)
    if (!key.cluster.empty() && !line.queue.empty()) names.insert(key.cluster);
  return names;
}

std::vector<BookedInvocation*> InvocationBook::waiting_for(const std::string& cluster) const {
  std::vector<BookedInvocation*> waiting;
  for (const auto& [key, line] : lines_)
    if (key.cluster == cluster)
      for (const auto& [place, invocation] : line.queue) waiting.push_back(invocation);
  return waiting;
}

bool InvocationLine::is_idle() const {
  return queue.empty() && std::ranges::all_of(busy, [](auto slots) { return slots == 0; });
}

const FunctionNeeds* InvocationBook::line_function(const BookedInvocation& invocation) {
  const FunctionVersion* version = invocation.version.get();
  if (version == nullptr || version->needs == nullptr) return nullptr;
  const bool alone = invocation.found_no_place || version->needs->get() != nullptr;
  return alone ? version->needs.get() : nullptr;
}

InvocationBook::Line& InvocationBook::line_of(const BookedInvocation& invocation) {
  const FunctionVersion* version = invocation.version.get();
  InvocationLineKey key{.function = line_function(invocation),
                        .kind = invocation.record.kind,
                        .device = invocation.record.device,
                        .cluster = invocation.record.cluster,
                        .hosts = version != nullptr ? version->hosts : ModuleHosts{}};
  if (invocation.data != nullptr) key.data_at = invocation.data->at;
  const auto found = lines_.find(key);
  if (found != lines_.end()) return found->second;
  Line line{.key = key, .busy = std::vector<std::size_t>(runners_)};
  return lines_.emplace(std::move(key), std::move(line)).first->second;
}

/// An idle one is as if it had never been.
void InvocationBook::leave_line(const Line& line) {
  if (line.is_idle()) lines_.erase(lines_.find(line.key));
}

void InvocationBook::enter_queue(BookedInvocation& invocation) {
  if (invocation.place == 0) invocation.place = next_place_++;
  invocation.state = InvocationState::queued;
  invocation.record.state = StoredState::queued;
  if (invocation.held) {
    held_.emplace(invocation.place, &invocation);
  } else {
    invocation.line = &line_of(invocation);
    invocation.line->queue.emplace(invocation.place, &invocation);
  }
  deadlines_.emplace(std::pair(invocation.record.deadline, invocation.place), &invocation);
}

void InvocationBook::leave_queue(const BookedInvocation& invocation) {
  deadlines_.erase({invocation.record.deadline, invocation.place});
  if (invocation.held) {
    held_.erase(invocation.place);
    return;
  }
  invocation.line->queue.erase(invocation.place);
  leave_line(*invocation.line);
}

void InvocationBook::accept(BookedInvocation invocation) {
  const std::string id = invocation.record.id;
  enter_queue(invocations_[id] = std::move(invocation));
}

void InvocationBook::adopt_running(BookedInvocation invocation, std::size_t runner) {
  invocation.state = InvocationState::running;
  invocation.runner = runner;
  invocation.extra = true;
  invocation.record.state = StoredState::started;
  const std::string id = invocation.record.id;
  invocations_[id] = std::move(invocation);
}

/// Those of a function that has been given needs meanwhile leave the lines of all others.
void InvocationBook::sort_out_heads() {
  std::vector<BookedInvocation*> heads;
  for (const auto& [key, line] : lines_) {
    if (key.function != nullptr) continue;
    for (const auto& [place, head] : line.queue) {
      if (line_function(*head) == nullptr) break;
      heads.push_back(head);
    }
  }
  for (BookedInvocation* head : heads) {
    leave_queue(*head);
    enter_queue(*head);
  }
}

bool InvocationBook::has_slot(const Line& line) const {
  const std::size_t most = limits_.running_per_runner_in_all * runners_;
  return *std::ranges::min_element(line.busy) < limits_.running_per_runner &&
         (slots_in_use_ < most ||
          std::ranges::all_of(line.busy, [](auto slots) { return slots == 0; }));
}

BookedInvocation* InvocationBook::start_next(MonotonicTime now, const HasSupply& has_supply) {
  sort_out_heads();
  Line* oldest = nullptr;
  for (auto& [key, line] : lines_) {
    if (line.queue.empty() || now < line.paused_until || !has_slot(line)) continue;
    if (oldest != nullptr && oldest->queue.begin()->first < line.queue.begin()->first) continue;
    if (has_supply(worker_of(key))) oldest = &line;
  }
  return oldest == nullptr ? nullptr : &give_slot(*oldest);
}

std::map<uid_t, std::vector<placement::WorkerDemand>> InvocationBook::kept_back(
    const HasSupply& has_supply) const {
  std::map<uid_t, std::vector<placement::WorkerDemand>> demand;
  for (const auto& [key, line] : lines_) {
    if (line.queue.empty()) continue;
    placement::WorkerRequest worker = worker_of(key);
    if (has_supply(worker)) continue;
    std::map<uid_t, std::uint32_t> workers;
    const std::size_t most = limits_.running_per_runner * runners_;
    for (const auto& [place, call] : line.queue | std::views::take(most))
      ++workers[call->record.tenant];
    for (const auto& [tenant, count] : workers)
      demand[tenant].push_back({.workers = count, .worker = worker});
  }
  return demand;
}

BookedInvocation& InvocationBook::give_slot(Line& line) {
  BookedInvocation& invocation = *line.queue.begin()->second;
  const auto least = std::ranges::min_element(line.busy);
  ++*least;  // so that the line stays
  ++slots_in_use_;
  leave_queue(invocation);
  invocation.runner = static_cast<std::size_t>(least - line.busy.begin());
  invocation.state = InvocationState::starting;
  invocation.record.state = StoredState::started;
  return invocation;
}

void InvocationBook::hold(BookedInvocation& invocation) {
  assert(invocation.state == InvocationState::starting);
  leave_slot(invocation);
  invocation.held = true;
  enter_queue(invocation);
}

void InvocationBook::let_in(const std::string& id, ConcurrencyGate::Place place) {
  BookedInvocation* invocation = find(id);
  if (invocation == nullptr || invocation->state != InvocationState::queued || !invocation->held)
    return;
  leave_queue(*invocation);
  invocation->held = false;
  invocation->gate_place = std::move(place);
  enter_queue(*invocation);
}

bool InvocationBook::hand_over(BookedInvocation& invocation) {
  assert(invocation.state == InvocationState::starting);
  if (invocation.cancel_requested) return false;
  invocation.state = InvocationState::running;
  return true;
}

InvocationBook::Cancelled InvocationBook::cancel(uid_t tenant, const std::string& id) {
  BookedInvocation* invocation = find(id);
  if (invocation == nullptr || invocation->record.tenant != tenant) return Cancelled::unknown;
  invocation->cancel_requested = true;
  switch (invocation->state) {
    case InvocationState::queued:
      return Cancelled::end_now;
    case InvocationState::starting:
      return Cancelled::noted;
    case InvocationState::running:
      return Cancelled::ask_runner;
    case InvocationState::ending:
      break;
  }
  return Cancelled::too_late;
}

bool InvocationBook::ended(BookedInvocation& invocation, Outcome outcome, bool reached_worker,
                           MonotonicTime now, UnixMillis wall_now) {
  assert(invocation.state == InvocationState::running);
  const bool waits_again = outcome == Outcome::no_capacity && !reached_worker &&
                           !invocation.cancel_requested && wall_now < invocation.record.deadline;
  leave_slot(invocation);
  if (!waits_again) {
    invocation.state = InvocationState::ending;
    return false;
  }
  invocation.extra = false;
  invocation.found_no_place = true;
  enter_queue(invocation);
  invocation.line->paused_until = now + limits_.pause_without_capacity;
  return true;
}

void InvocationBook::leave_slot(BookedInvocation& invocation) {
  const bool held =
      invocation.state == InvocationState::starting || invocation.state == InvocationState::running;
  if (!held || invocation.extra) return;
  --invocation.line->busy[invocation.runner];
  --slots_in_use_;
  leave_line(*invocation.line);
}

void InvocationBook::end(BookedInvocation& invocation) {
  if (invocation.state == InvocationState::queued) leave_queue(invocation);
  leave_slot(invocation);
  invocation.state = InvocationState::ending;
}

void InvocationBook::stored(const std::string& id) { invocations_.erase(id); }

std::vector<BookedInvocation*> InvocationBook::expired(UnixMillis wall_now) {
  std::vector<BookedInvocation*> late;
  for (const auto& [when, invocation] : deadlines_) {
    if (when.first > wall_now) break;
    late.push_back(invocation);
  }
  return late;
}

BookedInvocation* InvocationBook::find(const std::string& id) {
  const auto found = invocations_.find(id);
  return found == invocations_.end() ? nullptr : &found->second;
}

const BookedInvocation* InvocationBook::find(uid_t tenant, const std::string& id) const {
  const auto found = invocations_.find(id);
  if (found == invocations_.end() || found->second.record.tenant != tenant) return nullptr;
  return &found->second;
}

void InvocationBook::add_metrics(MetricsText& text) const {
  text.gauge("orchid_async_invocations_queued", "Asynchronous invocations that wait for a worker.",
             queued_count());
  text.gauge("orchid_async_invocations_running", "Asynchronous invocations under way.",
             running_count());
}

}  // namespace orchid::gateway
