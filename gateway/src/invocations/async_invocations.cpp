#include "invocations/async_invocations.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "foundation/log.h"

namespace orchid::gateway {
namespace {

// Inputs that are kept in memory between acceptance and start; beyond that they are read from the
// store again.
constexpr ByteCount fresh_input_limit = 64_MiB;
constexpr std::chrono::minutes cleaning_interval{10};
constexpr std::chrono::seconds data_returns_within{60};  // after a start, with its executors

CallResult platform_result(Outcome outcome, std::string message, unsigned attempt) {
  CallResult result;
  result.outcome = outcome;
  result.message = std::move(message);
  result.attempt = attempt;
  return result;
}

InvocationRecord record_of(std::string id, const AsyncSubmission& submission) {
  InvocationRecord record;
  record.id = std::move(id);
  record.tenant = submission.tenant;
  record.function = submission.version->function;
  record.digest = submission.version->digest;
  record.entry = submission.version->manifest.entries[submission.entry].name;
  record.idempotency_key = submission.idempotency_key;
  record.request = submission.reference;
  record.at_most_once = submission.at_most_once;
  record.kind = submission.kind;
  record.device = submission.device;
  record.cluster = submission.cluster;
  record.data = to_string(submission.data);
  record.output_data = submission.output_data;
  record.accepted = submission.accepted;
  record.deadline = submission.deadline;
  return record;
}

}  // namespace

AsyncInvocations::AsyncInvocations(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(options),
      data_returns_by_(parts_.clock.now() + data_returns_within),
      book_(options.limits, parts_.runners.size()),
      outcomes_({parts_.store, parts_.clock, parts_.control},
                [this](const FinishedInvocation& saved) {
                  book_.stored(saved.record.id);
                  notify(saved);
                  pump();
                }) {}

UnixMillis AsyncInvocations::wall_now() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             parts_.clock.wall_now().time_since_epoch())
      .count();
}

void AsyncInvocations::restore(std::vector<InvocationRecord> unfinished,
                               const VersionFinder& find_version) {
  const std::size_t count = unfinished.size();
  for (InvocationRecord& record : unfinished) {
    BookedInvocation invocation;
    invocation.version = find_version(record);
    const bool started_once = record.at_most_once && record.state == StoredState::started;
    const auto entry = invocation.version != nullptr
                           ? invocation.version->manifest.entry_index(record.entry)
                           : std::nullopt;
    invocation.entry = entry.value_or(0);
    invocation.record = std::move(record);
    const std::string id = invocation.record.id;
    const unsigned attempts = invocation.record.attempts;
    book_.accept(std::move(invocation));
    if (entry && !started_once) continue;
    const std::string why = started_once
                                ? "the gateway was restarted while it ran, and it may run only once"
                                : "its function's code is gone: deploy it again";
    finish(*book_.find(id), platform_result(Outcome::worker_lost, why, attempts));
  }
  if (count > 0) log::info("event=invocations_restored count={}", count);
}

void AsyncInvocations::submit(AsyncSubmission submission, Completion<InsertedInvocation> done) {
  owner_.assert_current();
  if (auto room = book_.check_room(on_the_way_); !room) return done(fail(std::move(room.error())));
  if (auto room = book_.check_cluster_room(submission.cluster); !room)
    return done(fail(std::move(room.error())));
  InvocationRecord record = record_of(format_invocation_id(ids_.next()), submission);
  ++on_the_way_;
  Payload input = submission.input;
  auto inserted = [this, submission = std::move(submission),
                   done = std::move(done)](Result<InsertedInvocation> result) mutable {
    --on_the_way_;
    if (!result) return done(std::move(result));
    if (!result->existed) {
      accepted(result->record, std::move(submission));
    } else if (!result->same_request) {
      return done(fail(ErrorCode::conflict,
                       "this Idempotency-Key was used for another request, invocation " +
                           result->record.id + " of '" + result->record.function +
                           "': take another key, or send the same function and input again"));
    }
    done(std::move(result));
  };
  parts_.store.insert(std::move(record), std::move(input),
                      on_thread<InsertedInvocation>(parts_.control, std::move(inserted)));
}

void AsyncInvocations::accepted(InvocationRecord record, AsyncSubmission submission) {
  const std::size_t size = submission.input.bytes.size();
  if (fresh_bytes_ + size <= fresh_input_limit.value) {
    fresh_bytes_ += size;
    fresh_inputs_.emplace(record.id, std::move(submission.input));
  }
  book_.accept({.record = std::move(record),
                .version = std::move(submission.version),
                .entry = submission.entry,
                .data = std::move(submission.data)});
  pump();
}

void AsyncInvocations::adopt(std::string id, AsyncSubmission submission, std::size_t runner,
                             Completion<void> done) {
  owner_.assert_current();
  BookedInvocation invocation;
  InvocationRecord& record = invocation.record;
  record = record_of(std::move(id), submission);
  invocation.version = std::move(submission.version);
  invocation.entry = submission.entry;
  invocation.data = std::move(submission.data);
  record.state = StoredState::started;
  record.attempts = 1;
  InvocationRecord row = record;
  // In the book at once: the call may end before the row is there, and the store takes its requests
  // in order.
  book_.adopt_running(std::move(invocation), runner);
  parts_.store.insert(
      std::move(row), std::move(submission.input),
      on_thread<InsertedInvocation>(parts_.control,
                                    [done = std::move(done)](Result<InsertedInvocation> result) {
                                      if (!result) return done(fail(std::move(result.error())));
                                      done({});
                                    }));
}

void AsyncInvocations::drain() {
  draining_ = true;
  tick();
}

void AsyncInvocations::pump() {
  if (draining_) return;
  while (BookedInvocation* next = book_.start_next(parts_.clock.now(), parts_.has_supply))
    if (pass_gate(*next)) start(*next);
}

/// False: it waits aside, since its function has as many calls running as it may.
bool AsyncInvocations::pass_gate(BookedInvocation& invocation) {
  const auto& gate = invocation.version->gate;
  if (gate == nullptr || gate->limit() == 0 || invocation.gate_place != nullptr) return true;
  auto entered = gate->enter(
      ConcurrencyGate::Kind::asynchronous,
      [this, control = parts_.control, id = invocation.record.id](ConcurrencyGate::Place place) {
        control([this, id, place = std::move(place)]() mutable {
          book_.let_in(id, std::move(place));
          pump();
        });
      });
  if (entered.place == nullptr) {
    book_.hold(invocation);
    return false;
  }
  invocation.gate_place = std::move(entered.place);
  return true;
}

void AsyncInvocations::start(BookedInvocation& invocation) {
  InvocationRecord& record = invocation.record;
  ++record.attempts;
  notify_of_state(invocation);
  // Requests are done in order: when the input is here, the attempt is durable.
  if (record.at_most_once) parts_.store.mark(record, {});
  const auto fresh = fresh_inputs_.find(record.id);
  if (fresh != fresh_inputs_.end()) {
    Payload input = std::move(fresh->second);
    fresh_bytes_ -= input.bytes.size();
    fresh_inputs_.erase(fresh);
    if (!record.at_most_once) return hand_over(invocation, std::move(input));
  }
  parts_.store.read_payload(
      record.id, PayloadKind::input,
      on_thread<std::vector<std::byte>>(
          parts_.control, [this, id = record.id](Result<std::vector<std::byte>> input) {
            input_read(id, std::move(input));
          }));
}

void AsyncInvocations::input_read(const std::string& id, Result<std::vector<std::byte>> input) {
  BookedInvocation* invocation = book_.find(id);
  if (invocation == nullptr || draining_) return;
  if (!input)
    return finish(*invocation,
                  platform_result(Outcome::worker_lost, "its input: " + input.error().message,
                                  invocation->record.attempts));
  hand_over(*invocation, Payload::of(std::move(*input)));
}

void AsyncInvocations::hand_over(BookedInvocation& invocation, Payload input) {
  if (!book_.hand_over(invocation))
    return finish(invocation, platform_result(Outcome::cancelled, "cancelled before it ran", 0));
  if (!find_its_data(invocation)) return;
  const MonotonicTime now = parts_.clock.now();
  const UnixMillis wall = wall_now();
  const std::chrono::milliseconds left(invocation.record.deadline - wall);
  if (!invocation.queued)
    invocation.queued =
        std::chrono::milliseconds(std::max<UnixMillis>(wall - invocation.record.accepted, 0));
  Call call{.invocation = invocation.record.id,
            .tenant = invocation.record.tenant,
            .version = invocation.version,
            .entry = invocation.entry,
            .input = std::move(input),
            .accepted = now,
            .deadline = now + left,
            .at_most_once = invocation.record.at_most_once,
            .is_asynchronous = true,
            .kind = invocation.record.kind,
            .device = invocation.record.device,
            .cluster = invocation.record.cluster,
            .data = invocation.data,
            .output_data = invocation.record.output_data,
            .place = std::exchange(invocation.gate_place, nullptr)};
  const RunnerPort& port = parts_.runners[invocation.runner];
  port.post([this, runner = port.runner, control = parts_.control,
             call = std::move(call)]() mutable {
    std::string id = call.invocation;
    runner->start(std::move(call), [this, control, id = std::move(id)](CallResult result) {
      // The output may lie in the worker's lane, which belongs to that thread: it leaves as a copy.
      result.output = Payload::of({result.output.bytes.begin(), result.output.bytes.end()});
      control([this, id, result = std::move(result)]() mutable { ended(id, std::move(result)); });
    });
  });
}

void AsyncInvocations::ended(const std::string& id, CallResult result) {
  owner_.assert_current();
  BookedInvocation* invocation = book_.find(id);
  if (invocation == nullptr || invocation->state != InvocationState::running || stopped_) return;
  const bool reached_worker = !result.node.empty();
  if (!book_.ended(*invocation, result.outcome, reached_worker, parts_.clock.now(), wall_now())) {
    finish(*invocation, std::move(result));
  } else {
    notify_of_state(*invocation);
    if (invocation->record.at_most_once)  // it never ran: after a restart it still may
      parts_.store.mark(invocation->record, {});
  }
  pump();
}

void AsyncInvocations::finish(BookedInvocation& invocation, CallResult result) {
  book_.end(invocation);
  const auto fresh = fresh_inputs_.find(invocation.record.id);
  if (fresh != fresh_inputs_.end()) {
    fresh_bytes_ -= fresh->second.bytes.size();
    fresh_inputs_.erase(fresh);
  }
  FinishedInvocation finished{.record = invocation.record,
                              .output = std::move(result.output),
                              .log = std::move(result.log)};
  InvocationRecord& record = finished.record;
  record.state = StoredState::done;
  record.outcome = result.outcome;
  record.message = std::move(result.message);
  record.node = std::move(result.node);
  record.lease = result.lease;
  record.attempts = std::max(record.attempts, result.attempt);
  record.finished = wall_now();
  record.timings = result.timings;
  add_waits(invocation, record.timings);
  if (!result.kept_as.empty()) record.output_data = std::move(result.kept_as);
  record.output_size = finished.output.bytes.size();
  record.log_dropped = result.log_dropped;
  outcomes_.save(std::move(finished));
}

void AsyncInvocations::list(InvocationFilter filter,
                            Completion<std::vector<InvocationRecord>> done) {
  auto listed = [this, done = std::move(done)](Result<std::vector<InvocationRecord>> records) {
    if (!records) return done(std::move(records));
    // The book is ahead of the store: whether a call has started is written for few of them.
    for (InvocationRecord& record : *records)
      if (const BookedInvocation* booked = book_.find(record.id); booked != nullptr)
        record = booked->record;
    done(std::move(records));
  };
  parts_.store.list(filter, on_thread<std::vector<InvocationRecord>>(parts_.control, listed));
}

void AsyncInvocations::cancel(uid_t tenant, const std::string& id, Completion<void> done) {
  owner_.assert_current();
  const auto refuse = [id](const char* why) {
    return fail(ErrorCode::conflict, "invocation " + id + " " + why);
  };
  switch (book_.cancel(tenant, id)) {
    case InvocationBook::Cancelled::end_now: {
      finish(*book_.find(id), platform_result(Outcome::cancelled, "cancelled before it ran", 0));
      return done({});
    }
    case InvocationBook::Cancelled::ask_runner: {
      const RunnerPort& port = parts_.runners[book_.find(id)->runner];
      port.post([runner = port.runner, id] { runner->cancel(id); });
      return done({});
    }
    case InvocationBook::Cancelled::noted:
      return done({});
    case InvocationBook::Cancelled::too_late:
      return done(refuse("has ended already"));
    case InvocationBook::Cancelled::unknown:
      break;
  }
  wait(tenant, id, {}, [id, done = std::move(done), refuse](auto found) {
    if (!found) return done(fail(std::move(found.error())));
    if (!*found)
      return done(fail(ErrorCode::not_found,
                       "there is no invocation " + id + ", or it ended too long ago"));
    done(refuse("has ended already"));
  });
}

void AsyncInvocations::output(std::string id, Completion<std::vector<std::byte>> done) {
  parts_.store.read_payload(std::move(id), PayloadKind::output,
                            on_thread<std::vector<std::byte>>(parts_.control, std::move(done)));
}

void AsyncInvocations::tick() {
  owner_.assert_current();
  if (stopped_) return;
  const MonotonicTime now = parts_.clock.now();
  for (BookedInvocation* late : book_.expired(wall_now()))
    finish(*late, platform_result(Outcome::deadline_exceeded,
                                  "its deadline passed before a worker was free", 0));
  look_at_clusters(now);
  answer_late_waiters(now);
  outcomes_.tick();
  if (now >= next_cleaning_) {
    next_cleaning_ = now + cleaning_interval;
    parts_.store.forget_finished(wall_now() - options_.keep_finished.count(), {});
  }
  pump();
}

}  // namespace orchid::gateway
