#include "invocations/sync_calls.h"

#include <utility>

namespace orchid::gateway {

namespace {
using std::chrono::duration_cast;
using std::chrono::milliseconds;
}  // namespace

SyncCalls::SyncCalls(Parts parts, Options options)
    : parts_(std::move(parts)), options_(options), ids_(options.home), recent_(options.recent) {
  live_.reserve(256);
}

Result<std::uint64_t> SyncCalls::start(SyncRequest request, Answer answer) {
  owner_.assert_current();
  if (live_.size() >= options_.in_flight)
    return fail(ErrorCode::no_capacity,
                std::to_string(options_.in_flight) +
                    " calls are in flight on this thread of the gateway: try again later");
  if (const auto& gate = request.version->gate; gate != nullptr && gate->is_crowded())
    return fail(ErrorCode::quota,
                "'" + request.version->function + "' has its " + std::to_string(gate->limit()) +
                    " concurrent calls running and many more waiting: try again later");
  const std::uint64_t number = ids_.next();
  Live& live = live_[number];
  live.request = std::move(request);
  live.accepted = parts_.clock.now();
  live.accepted_wall =
      duration_cast<milliseconds>(parts_.clock.wall_now().time_since_epoch()).count();
  live.answer = std::move(answer);
  Call call{.invocation = format_invocation_id(number),
            .tenant = live.request.tenant,
            .version = live.request.version,
            .entry = live.request.entry,
            .input = live.request.input,
            .accepted = live.accepted,
            .deadline = live.request.deadline,
            .at_most_once = live.request.at_most_once,
            .kind = live.request.kind,
            .device = live.request.device,
            .cluster = live.request.cluster,
            .data = live.request.data,
            .output_data = live.request.output_data};
  metrics_.started.add();
  parts_.runner.start(std::move(call),
                      [this, number](CallResult result) { ended(number, std::move(result)); });
  return number;
}

UnixMillis SyncCalls::wall(MonotonicTime time, const Live& live) const {
  return live.accepted_wall + duration_cast<milliseconds>(time - live.accepted).count();
}

void SyncCalls::ended(std::uint64_t number, CallResult result) {
  const auto found = live_.find(number);
  if (found == live_.end()) return;
  Live live = std::move(found->second);
  live_.erase(found);
  result.timings.transfer += live.request.transfer;
  if (live.handed_over) {
    // The output may lie in a worker's lane, which belongs to this thread: it leaves as a copy.
    result.output = Payload::of({result.output.bytes.begin(), result.output.bytes.end()});
    parts_.control([&async = parts_.async, id = format_invocation_id(number),
                    result = std::move(result)]() mutable { async.ended(id, std::move(result)); });
    return;
  }
  metrics_.left.add();
  observe(live.accepted, result.outcome);
  remember(number, live, result, std::exchange(result.log, {}));
  if (!live.waiters.empty())
    release_waiters(live, {}, true, view_of(*recent_.find(live.request.tenant, number)));
  if (live.answer)
    live.answer(
        {.id = format_invocation_id(number), .outlived = false, .result = std::move(result)});
}

void SyncCalls::observe(MonotonicTime accepted, Outcome outcome) {
  metrics_.observe(outcome,
                   duration_cast<std::chrono::microseconds>(parts_.clock.now() - accepted));
}

void SyncCalls::remember(std::uint64_t number, Live& live, const CallResult& result,
                         std::string log) {
  recent_.add({.number = number,
               .tenant = live.request.tenant,
               .function = live.request.version->function,
               .digest = live.request.version->digest,
               .entry = live.request.version->manifest.entries[live.request.entry].name,
               .outcome = result.outcome,
               .attempt = result.attempt,
               .accepted = live.accepted_wall,
               .deadline = wall(live.request.deadline, live),
               .finished = wall(parts_.clock.now(), live),
               .timings = result.timings,
               .output_size = result.output.bytes.size(),
               .log_dropped = result.log_dropped,
               .message = result.message,
               .node = result.node,
               .lease = result.lease,
               .log = std::move(log)});
}

void SyncCalls::caller_gone(std::uint64_t number) {
  const auto found = live_.find(number);
  if (found == live_.end() || found->second.handed_over) return;
  found->second.answer = nullptr;
  parts_.runner.cancel(format_invocation_id(number));
}

void SyncCalls::hand_over(std::uint64_t number, Live& live) {
  live.handed_over = true;
  metrics_.left.add();
  AsyncSubmission submission{.tenant = live.request.tenant,
                             .version = live.request.version,
                             .entry = live.request.entry,
                             .idempotency_key = std::nullopt,
                             .reference = {},
                             .at_most_once = live.request.at_most_once,
                             .kind = live.request.kind,
                             .device = live.request.device,
                             .cluster = live.request.cluster,
                             .data = live.request.data,
                             .output_data = live.request.output_data,
                             .accepted = live.accepted_wall,
                             .deadline = wall(live.request.deadline, live),
                             .input = live.request.input};
  std::string id = format_invocation_id(number);
  auto durable = [this, answer = std::exchange(live.answer, nullptr), accepted = live.accepted,
                  id](Result<void> stored) {
    SyncAnswer to_caller{.id = id, .outlived = true, .result = {}};
    if (!stored) {
      to_caller.outlived = false;
      to_caller.result.outcome = Outcome::no_capacity;
      to_caller.result.message =
          "the call takes longer than its caller waits, and could not be made asynchronous: " +
          stored.error().message;
      observe(accepted, Outcome::no_capacity);
    }
    answer(std::move(to_caller));
  };
  // Those who long-poll for it hear of it from the control thread from now on.
  std::vector<Waiter> waiters = std::exchange(live.waiters, {});
  parts_.control([&async = parts_.async, here = parts_.here, id, tenant = live.request.tenant,
                  submission = std::move(submission), runner = options_.home - 1,
                  durable = std::move(durable), waiters = std::move(waiters)]() mutable {
    async.adopt(id, std::move(submission), runner, on_thread<void>(here, std::move(durable)));
    for (Waiter& waiter : waiters) {
      auto back = [here, done = std::move(waiter.done)](auto view) {
        here([done, view = std::move(view)]() mutable { done(std::move(view)); });
      };
      async.wait(tenant, id, waiter.wait, std::move(back));
    }
  });
}

void SyncCalls::sweep() {
  const MonotonicTime now = parts_.clock.now();
  for (auto& [number, live] : live_) {
    if (live.handed_over) continue;
    if (live.answer && live.request.wait_until <= now) hand_over(number, live);
    if (!live.waiters.empty()) release_waiters(live, now, false, view_of_live(number, live));
  }
}

void SyncCalls::release_waiters(Live& live, MonotonicTime now, bool all,
                                const InvocationView& view) {
  std::vector<Waiter> due;
  std::erase_if(live.waiters, [&](Waiter& waiter) {
    if (!all && waiter.wait.until > now) return false;
    due.push_back(std::move(waiter));
    return true;
  });
  for (const Waiter& waiter : due) waiter.done(std::optional(view));
}

InvocationView SyncCalls::view_of_live(std::uint64_t number, const Live& live) const {
  InvocationView view;
  view.synchronous = true;
  view.record.id = format_invocation_id(number);
  view.record.tenant = live.request.tenant;
  view.record.function = live.request.version->function;
  view.record.digest = live.request.version->digest;
  view.record.entry = live.request.version->manifest.entries[live.request.entry].name;
  view.record.at_most_once = live.request.at_most_once;
  view.record.kind = live.request.kind;
  view.record.device = live.request.device;
  view.record.cluster = live.request.cluster;
  view.record.data = to_string(live.request.data);
  view.record.output_data = live.request.output_data;
  view.record.accepted = live.accepted_wall;
  view.record.deadline = wall(live.request.deadline, live);
  view.record.state = StoredState::started;
  view.progress = parts_.runner.running_progress(view.record.id);
  return view;
}

void SyncCalls::wait(uid_t tenant, std::uint64_t number, ViewWait wait, ViewDone done) {
  owner_.assert_current();
  const auto found = live_.find(number);
  if (found != live_.end() && !found->second.handed_over &&
      found->second.request.tenant == tenant) {
    if (wait.goes_on(StoredState::started, parts_.clock.now())) {
      found->second.waiters.push_back({wait, std::move(done)});
    } else {
      done(std::optional(view_of_live(number, found->second)));
    }
    return;
  }
  const RecentCall* recent = recent_.find(tenant, number);
  done(recent == nullptr ? std::nullopt : std::optional(view_of(*recent)));
}

std::vector<InvocationView> SyncCalls::list(uid_t tenant, std::size_t limit) const {
  std::vector<InvocationView> views;
  for (const auto& [number, live] : live_)
    if (!live.handed_over && live.request.tenant == tenant)
      views.push_back(view_of_live(number, live));
  for (InvocationView& view : recent_.list(tenant, limit)) views.push_back(std::move(view));
  return views;
}

std::optional<InvocationLog> SyncCalls::log(uid_t tenant, std::uint64_t number) const {
  const auto found = live_.find(number);
  if (found != live_.end() && !found->second.handed_over &&
      found->second.request.tenant == tenant) {
    auto log = parts_.runner.running_log(format_invocation_id(number));
    return InvocationLog{.text = std::move(log.text), .dropped = log.dropped};
  }
  if (const RecentCall* recent = recent_.find(tenant, number); recent != nullptr)
    return InvocationLog{.text = recent->log, .dropped = recent->log_dropped, .complete = true};
  return std::nullopt;
}

SyncCalls::Cancelled SyncCalls::cancel(uid_t tenant, std::uint64_t number) {
  const auto found = live_.find(number);
  if (found != live_.end() && !found->second.handed_over &&
      found->second.request.tenant == tenant) {
    parts_.runner.cancel(format_invocation_id(number));
    return Cancelled::asked;
  }
  return recent_.find(tenant, number) != nullptr ? Cancelled::too_late : Cancelled::unknown;
}

}  // namespace orchid::gateway
