#include "invocations/async_invocations.h"

#include "gateway_fakes.h"

namespace orchid::gateway {
namespace {

struct AsyncFixture {
  AsyncFixture() { open(); }
  void open() {
    async.reset();
    store.reset();
    control.clear();
    http.clear();
    store = Store::open(directory.path()).value();
    auto state = store->load();
    REQUIRE(state.has_value());
    async = std::make_unique<AsyncInvocations>(
        AsyncInvocations::Parts{*store,
                                clock,
                                control.poster(),
                                {{http.poster(), &runner}},
                                [this](const auto&) { return has_supply; },
                                {},
                                [](const std::string& cluster) -> Result<void> {
                                  if (cluster == "moss") return {};
                                  return fail(ErrorCode::bad_request, "there is no " + cluster);
                                }},
        AsyncInvocations::Options{});
    async->restore(std::move(state->unfinished),
                   [this](const InvocationRecord&) { return version; });
    store->start();
    async->tick();
  }
  AsyncSubmission submission(std::string_view input) {
    const auto bytes = as_bytes(input);
    return {.tenant = 1,
            .version = version,
            .entry = 0,
            .idempotency_key = std::nullopt,
            .reference = "f",
            .at_most_once = false,
            .accepted = clock.wall_ms(),
            .deadline = clock.wall_ms() + 60'000,
            .input = Payload::of({bytes.begin(), bytes.end()})};
  }
  InsertedInvocation submit(AsyncSubmission what) {
    std::optional<Result<InsertedInvocation>> accepted;
    async->submit(std::move(what),
                  [&](Result<InsertedInvocation> result) { accepted.emplace(std::move(result)); });
    control.run_until([&] { return accepted.has_value(); });
    REQUIRE(accepted->has_value());
    return std::move(**accepted);
  }
  void wait_for_start(const std::string& id) {
    control.run_until([&] {
      http.run_all();
      return runner.running.contains(id);
    });
  }
  InvocationRecord outcome_of(const std::string& id) {
    std::optional<InvocationRecord> record;
    async->wait(1, id, {.until = clock.now() + std::chrono::seconds(30)},
                [&](Result<std::optional<InvocationView>> view) {
                  REQUIRE(view.has_value());
                  REQUIRE(view->has_value());
                  record = (*view)->record;
                });
    control.run_until([&] { return record.has_value(); });
    return *record;
  }
  std::string output_of(const std::string& id) {
    std::optional<std::string> output;
    async->output(id,
                  [&](Result<std::vector<std::byte>> bytes) { output = as_text(bytes.value()); });
    control.run_until([&] { return output.has_value(); });
    return *output;
  }

  TemporaryDirectory directory;
  TaskInbox control;
  TaskInbox http;
  ManualClock clock;
  FakeRunner runner;
  bool has_supply = true;
  std::shared_ptr<const FunctionVersion> version = make_version("f", 'a');
  std::unique_ptr<Store> store;
  std::unique_ptr<AsyncInvocations> async;
};

TEST_CASE_FIXTURE(AsyncFixture,
                  "an invocation is durable, runs, and its outcome is there for those who wait") {
  const std::string id = submit(submission("in")).record.id;
  wait_for_start(id);
  CHECK(as_text(runner.running[id].call.input.bytes) == "in");
  runner.end(id, ok_result("out"));
  const InvocationRecord record = outcome_of(id);
  CHECK(record.outcome == Outcome::ok);
  CHECK(record.state == StoredState::done);
  CHECK(output_of(id) == "out");
}

TEST_CASE_FIXTURE(AsyncFixture,
                  "who waits for the end is given the output with it, once it is durable") {
  const std::string id = submit(submission("in")).record.id;
  wait_for_start(id);
  std::optional<InvocationView> view;
  async->wait(1, id, {.until = clock.now() + std::chrono::seconds(30)},
              [&](Result<std::optional<InvocationView>> found) { view = found.value(); });
  runner.end(id, ok_result("out"));
  control.run_until([&] { return view.has_value(); });
  REQUIRE(view->output.has_value());
  CHECK(as_text(view->output->bytes) == "out");
  CHECK(output_of(id) == "out");
}

TEST_CASE_FIXTURE(AsyncFixture, "while an invocation runs, it is told how far it is") {
  const std::string id = submit(submission("in")).record.id;
  wait_for_start(id);
  runner.progress = 0.25;
  std::optional<InvocationView> view;
  async->wait(1, id, {},
              [&](Result<std::optional<InvocationView>> found) { view = found.value(); });
  control.run_until([&] {
    http.run_all();
    return view.has_value();
  });
  CHECK(view->record.state == StoredState::started);
  CHECK(view->progress == 0.25);
}

TEST_CASE_FIXTURE(AsyncFixture,
                  "a call for a cluster that nobody knows is stored, and ends so after a while") {
  AsyncSubmission wrong = submission("");
  wrong.cluster = "fern";
  has_supply = false;
  const std::string id = submit(std::move(wrong)).record.id;
  const auto pass = [this](std::chrono::seconds time) {
    clock.advance(time);
    async->tick();
  };
  pass(std::chrono::seconds(1));  // since then nobody has known it
  pass(std::chrono::seconds(19));
  CHECK(async->queued_count() == 1);
  open();  // a restart of the gateway
  pass(std::chrono::seconds(1));
  CHECK(async->queued_count() == 1);  // its executors may come back to this gateway
  pass(std::chrono::seconds(21));
  const InvocationRecord record = outcome_of(id);
  CHECK(record.outcome == Outcome::bad_request);
  CHECK(record.message == "there is no fern");
  has_supply = true;
  AsyncSubmission right = submission("");
  right.cluster = "moss";
  const std::string there = submit(std::move(right)).record.id;
  wait_for_start(there);
  CHECK(runner.running[there].call.cluster == "moss");
  runner.end(there, ok_result("out"));
  CHECK(outcome_of(there).cluster == "moss");
}

TEST_CASE_FIXTURE(AsyncFixture, "an invocation waits while there is no executor") {
  has_supply = false;
  const std::string id = submit(submission("")).record.id;
  async->tick();
  http.run_all();
  CHECK(runner.running.empty());
  CHECK(async->queued_count() == 1);
  has_supply = true;
  async->tick();
  wait_for_start(id);
}

TEST_CASE_FIXTURE(AsyncFixture, "what was accepted before a restart runs after it") {
  has_supply = false;
  const std::string id = submit(submission("kept")).record.id;
  has_supply = true;
  open();
  wait_for_start(id);
  CHECK(as_text(runner.running[id].call.input.bytes) == "kept");
}

TEST_CASE_FIXTURE(AsyncFixture,
                  "what was running at a restart runs again, unless it may run only once") {
  AsyncSubmission once = submission("once");
  once.at_most_once = true;
  const std::string first = submit(submission("again")).record.id;
  const std::string second = submit(std::move(once)).record.id;
  wait_for_start(first);
  wait_for_start(second);
  runner.running.clear();
  open();
  wait_for_start(first);
  const InvocationRecord lost = outcome_of(second);
  CHECK(lost.outcome == Outcome::worker_lost);
  CHECK_FALSE(runner.running.contains(second));
}

TEST_CASE_FIXTURE(AsyncFixture,
                  "a call that may run only once, and found no worker, runs after a restart") {
  AsyncSubmission once = submission("once");
  once.at_most_once = true;
  const std::string id = submit(std::move(once)).record.id;
  wait_for_start(id);
  runner.end(id, failed_result(Outcome::no_capacity, ""));
  control.run_until([&] { return async->queued_count() == 1; });
  open();
  wait_for_start(id);
  CHECK(as_text(runner.running[id].call.input.bytes) == "once");
  runner.end(id, ok_result("out"));
  CHECK(outcome_of(id).outcome == Outcome::ok);
}

TEST_CASE_FIXTURE(AsyncFixture,
                  "the same idempotency key gives the same invocation, before and after it ended") {
  AsyncSubmission keyed = submission("x");
  keyed.idempotency_key = "k";
  const std::string id = submit(keyed).record.id;
  wait_for_start(id);
  CHECK(submit(keyed).existed);
  runner.end(id, ok_result("out"));
  CHECK(outcome_of(id).outcome == Outcome::ok);
  const InsertedInvocation again = submit(keyed);
  CHECK(again.existed);
  CHECK(again.record.id == id);
  CHECK(again.record.outcome == Outcome::ok);
  CHECK(runner.order.size() == 1);
}

TEST_CASE_FIXTURE(AsyncFixture, "a key that was used for another request is a conflict") {
  AsyncSubmission keyed = submission("x");
  keyed.idempotency_key = "k";
  const std::string id = submit(keyed).record.id;
  AsyncSubmission other_input = submission("y");
  AsyncSubmission other_function = keyed;
  other_input.idempotency_key = "k";
  other_function.reference = "g";
  for (const AsyncSubmission& other : {other_input, other_function}) {
    std::optional<Result<InsertedInvocation>> refused;
    async->submit(other, [&](Result<InsertedInvocation> result) { refused.emplace(result); });
    control.run_until([&] { return refused.has_value(); });
    REQUIRE_FALSE(refused->has_value());
    CHECK(refused->error().code == ErrorCode::conflict);
    CHECK(refused->error().message.contains(id));
  }
}

TEST_CASE_FIXTURE(AsyncFixture,
                  "a queued invocation is cancelled at once, a running one through its runner") {
  has_supply = false;
  const std::string queued = submit(submission("")).record.id;
  std::size_t answered = 0;
  const auto count = [&](Result<void> result) {
    CHECK(result.has_value());
    ++answered;
  };
  async->cancel(1, queued, count);
  CHECK(outcome_of(queued).outcome == Outcome::cancelled);
  has_supply = true;
  const std::string running = submit(submission("")).record.id;
  wait_for_start(running);
  async->cancel(1, running, count);
  http.run_all();
  CHECK(runner.cancelled == std::vector<std::string>{running});
  runner.end(running, failed_result(Outcome::cancelled));
  CHECK(outcome_of(running).outcome == Outcome::cancelled);
  CHECK(answered == 2);
  std::optional<ErrorCode> refused;
  async->cancel(1, running, [&](Result<void> result) { refused = result.error().code; });
  control.run_until([&] { return refused.has_value(); });
  CHECK(refused == ErrorCode::conflict);
}

TEST_CASE_FIXTURE(AsyncFixture,
                  "an invocation whose deadline passes in the queue is dropped there") {
  has_supply = false;
  const std::string id = submit(submission("")).record.id;
  clock.advance(std::chrono::seconds(61));
  async->tick();
  CHECK(outcome_of(id).outcome == Outcome::deadline_exceeded);
  CHECK(runner.order.empty());
}

TEST_CASE_FIXTURE(AsyncFixture, "who waits hears of the state when the wait is over") {
  const std::string id = submit(submission("")).record.id;
  wait_for_start(id);
  std::optional<StoredState> seen;
  async->wait(1, id, {.until = clock.now() + std::chrono::seconds(5)},
              [&](Result<std::optional<InvocationView>> view) { seen = (*view)->record.state; });
  async->tick();
  CHECK_FALSE(seen.has_value());
  clock.advance(std::chrono::seconds(5));
  async->tick();
  control.run_until([&] {
    http.run_all();
    return seen.has_value();
  });
  CHECK(seen == StoredState::started);
}

TEST_CASE_FIXTURE(AsyncFixture, "who knows the state hears at once of another one") {
  has_supply = false;
  const std::string id = submit(submission("")).record.id;
  std::vector<StoredState> seen;
  const auto wait_for_other = [&](StoredState known) {
    async->wait(
        1, id, {.until = clock.now() + std::chrono::seconds(30), .known = known},
        [&](Result<std::optional<InvocationView>> view) { seen.push_back((*view)->record.state); });
  };
  wait_for_other(StoredState::queued);
  async->tick();
  CHECK(seen.empty());
  has_supply = true;
  async->tick();
  wait_for_start(id);
  control.run_until([&] { return seen.size() == 1; });
  CHECK(seen.back() == StoredState::started);
  wait_for_other(StoredState::started);
  has_supply = false;
  runner.end(id, failed_result(Outcome::no_capacity, ""));  // it found no worker, and waits again
  control.run_until([&] { return seen.size() == 2; });
  CHECK(seen.back() == StoredState::queued);
  wait_for_other(StoredState::started);  // which it is no more
  CHECK(seen.size() == 3);
}

TEST_CASE_FIXTURE(AsyncFixture,
                  "a synchronous call that goes on is an invocation like the others") {
  std::optional<Result<void>> adopted;
  async->adopt("i-0100000000000001", submission("in"), 0,
               [&](Result<void> result) { adopted.emplace(std::move(result)); });
  control.run_until([&] { return adopted.has_value(); });
  CHECK(adopted->has_value());
  async->ended("i-0100000000000001", ok_result("late"));
  CHECK(outcome_of("i-0100000000000001").outcome == Outcome::ok);
  CHECK(output_of("i-0100000000000001") == "late");
}

TEST_CASE_FIXTURE(AsyncFixture, "a result that comes while the gateway stops is not taken") {
  const std::string id = submit(submission("")).record.id;
  wait_for_start(id);
  async->drain();
  async->stop();
  runner.end(id, failed_result(Outcome::cancelled));
  control.run_all();
  open();
  wait_for_start(id);
}

}  // namespace
}  // namespace orchid::gateway
