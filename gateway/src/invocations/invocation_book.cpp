#include "invocations/invocation_book.h"

#include <algorithm>
#include <cassert>

namespace orchid::gateway {

InvocationBook::InvocationBook(Limits limits, std::size_t runners)
    : limits_(limits), busy_(runners, 0) {
  assert(runners > 0);
}

Result<void> InvocationBook::check_room(std::size_t on_the_way) const {
  if (queued_count() + on_the_way < limits_.queued) return {};
  return fail(ErrorCode::quota,
              std::to_string(limits_.queued) +
                  " asynchronous invocations are waiting already: try again later");
}

void InvocationBook::enter_queue(BookedInvocation& invocation) {
  if (invocation.place == 0) invocation.place = next_place_++;
  invocation.state = InvocationState::queued;
  invocation.record.state = StoredState::queued;
  (invocation.held ? held_ : queue_).emplace(invocation.place, &invocation);
  deadlines_.emplace(invocation.record.deadline, invocation.place);
}

void InvocationBook::leave_queue(const BookedInvocation& invocation) {
  (invocation.held ? held_ : queue_).erase(invocation.place);
  deadlines_.erase({invocation.record.deadline, invocation.place});
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

BookedInvocation* InvocationBook::start_next(MonotonicTime now) {
  if (queue_.empty() || now < paused_until_) return nullptr;
  const auto least = std::ranges::min_element(busy_);
  if (*least >= limits_.running_per_runner) return nullptr;
  BookedInvocation& invocation = *queue_.begin()->second;
  leave_queue(invocation);
  ++*least;
  invocation.runner = static_cast<std::size_t>(least - busy_.begin());
  invocation.state = InvocationState::starting;
  invocation.record.state = StoredState::started;
  return &invocation;
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
  enter_queue(invocation);
  paused_until_ = now + limits_.pause_without_capacity;
  return true;
}

void InvocationBook::leave_slot(BookedInvocation& invocation) {
  const bool held =
      invocation.state == InvocationState::starting || invocation.state == InvocationState::running;
  if (held && !invocation.extra) --busy_[invocation.runner];
}

void InvocationBook::end(BookedInvocation& invocation) {
  if (invocation.state == InvocationState::queued) leave_queue(invocation);
  leave_slot(invocation);
  invocation.state = InvocationState::ending;
}

void InvocationBook::stored(const std::string& id) { invocations_.erase(id); }

std::vector<BookedInvocation*> InvocationBook::expired(UnixMillis wall_now) {
  std::vector<BookedInvocation*> late;
  for (const auto& [deadline, place] : deadlines_) {
    if (deadline > wall_now) break;
    const auto queued = queue_.find(place);
    late.push_back(queued != queue_.end() ? queued->second : held_.at(place));
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
