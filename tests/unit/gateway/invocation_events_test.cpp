#include "invocations/invocation_events.h"

#include <nlohmann/json.hpp>

#include "sync_fixture.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Heard {
  std::string name;
  std::string id;
  Json data;
};

/// As a reader takes a stream apart.
std::vector<Heard> events_of(const std::string& text) {
  std::vector<Heard> events;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find("\n\n", at);
    REQUIRE(end != std::string::npos);
    Heard heard;
    for (std::size_t line = at; line < end;) {
      const std::size_t line_end = text.find('\n', line);
      const std::size_t colon = text.find(": ", line);
      const std::string field = text.substr(line, colon - line);
      const std::string value = text.substr(colon + 2, line_end - colon - 2);
      if (field == "event") heard.name = value;
      if (field == "id") heard.id = value;
      if (field == "data") heard.data = Json::parse(value);
      line = line_end + 1;
    }
    if (!heard.name.empty()) events.push_back(std::move(heard));
    at = end + 2;
  }
  return events;
}

std::vector<std::string> names_of(const std::vector<Heard>& events) {
  std::vector<std::string> names;
  for (const Heard& event : events)
    names.push_back(event.name == "progress" ? event.data.dump()
                                             : event.name + " " + event.data.at("state").dump());
  return names;
}

InvocationView view_in(StoredState state, std::optional<double> progress = std::nullopt) {
  InvocationView view;
  view.record.id = "i-0000000000000001";
  view.record.function = "f";
  view.record.state = state;
  if (state == StoredState::done) view.record.outcome = Outcome::ok;
  view.progress = progress;
  return view;
}

TEST_CASE("a reader is told each state with its document, and each progress once") {
  ToldInvocation told;
  const auto queued = events_of(told.tell(view_in(StoredState::queued)));
  REQUIRE(queued.size() == 1);
  CHECK(queued[0].name == "state");
  CHECK(queued[0].id == "queued");
  CHECK(queued[0].data.at("state") == "queued");
  CHECK(queued[0].data.at("function") == "f");
  CHECK(told.tell(view_in(StoredState::queued)).empty());

  const auto running = events_of(told.tell(view_in(StoredState::started)));
  REQUIRE(running.size() == 1);
  CHECK(running[0].id == "running");
  const auto half = events_of(told.tell(view_in(StoredState::started, 0.5)));
  REQUIRE(half.size() == 1);
  CHECK(half[0].name == "progress");
  CHECK(half[0].id.empty());
  CHECK(half[0].data == Json{{"progress", 0.5}});
  CHECK(told.tell(view_in(StoredState::started, 0.5)).empty());
  CHECK(told.tell(view_in(StoredState::started)).empty());

  const auto done = events_of(told.tell(view_in(StoredState::done)));
  REQUIRE(done.size() == 1);
  CHECK(done[0].name == "done");
  CHECK(done[0].id == "done");
  CHECK(done[0].data.at("outcome") == "ok");
  CHECK(told.tell(view_in(StoredState::done)).empty());
}

TEST_CASE("a reader who comes late is told state and progress at once") {
  CHECK(names_of(events_of(ToldInvocation().tell(view_in(StoredState::started, 0.25)))) ==
        std::vector<std::string>{R"(state "running")", R"({"progress":0.25})"});
  CHECK(names_of(events_of(ToldInvocation().tell(view_in(StoredState::done)))) ==
        std::vector<std::string>{R"(done "done")"});
}

TEST_CASE("a call that waits again begins anew, and says its progress again") {
  ToldInvocation told;
  [[maybe_unused]] const std::string first = told.tell(view_in(StoredState::started, 0.5));
  CHECK(names_of(events_of(told.tell(view_in(StoredState::queued)))) ==
        std::vector<std::string>{R"(state "queued")"});
  CHECK(names_of(events_of(told.tell(view_in(StoredState::started, 0.5)))) ==
        std::vector<std::string>{R"(state "running")", R"({"progress":0.5})"});
}

/// A reader on the one HTTP thread, which takes whenever it is woken.
struct EventsFixture : SyncFixture {
  std::string submit() {
    std::string id;
    async.submit({.tenant = 1,
                  .version = version,
                  .entry = 0,
                  .idempotency_key = std::nullopt,
                  .reference = "f",
                  .accepted = clock.wall_ms(),
                  .deadline = clock.wall_ms() + 60'000,
                  .input = {}},
                 [&](Result<InsertedInvocation> result) { id = result.value().record.id; });
    run_until([&] { return !id.empty(); });
    return id;
  }
  void follow(const std::string& id) {
    std::optional<InvocationView> first;
    finder.find(1, id, {}, [&](Result<std::optional<InvocationView>> found) {
      REQUIRE(found.value().has_value());
      first = std::move(**found);
    });
    run_until([&] { return first.has_value(); });
    source = std::make_shared<InvocationEvents>(
        InvocationEvents::Parts{finder, clock, limit.enter(1).value()}, 1, std::move(*first));
    source->open([this] { take(); });
    take();
  }
  void take() {
    const EventBatch batch = source->take();
    text += batch.text;
    over = batch.last;
    for (const std::string& name : names_of(events_of(batch.text))) told.push_back(name);
  }
  /// Both threads go on, until `condition` holds.
  void pass_until(const std::function<bool()>& condition) {
    const auto give_up = std::chrono::steady_clock::now() + seconds(10);
    while (!condition()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      clock.advance(milliseconds(50));
      async.tick();
      calls.sweep();
      control.run_all();
      here.run_all();
    }
  }
  void pass_until_told(std::size_t count) {
    pass_until([&] { return told.size() >= count; });
  }

  std::vector<CallsPort> threads{{here.poster(), &calls}};
  InvocationFinder finder{{async, threads, control.poster(), here.poster()}};
  StreamLimit limit{1};
  std::shared_ptr<InvocationEvents> source;
  std::string text;
  std::vector<std::string> told;
  bool over = false;
};

TEST_CASE_FIXTURE(EventsFixture, "an asynchronous call is followed from its queue to its end") {
  has_supply = false;
  const std::string id = submit();
  follow(id);
  CHECK(told == std::vector<std::string>{R"(state "queued")"});
  has_supply = true;
  pass_until_told(2);
  pass_until([&] { return runner.running.contains(id); });
  for (const double progress : {0.25, 0.5, 0.75}) {
    runner.progress = progress;
    pass_until_told(told.size() + 1);
  }
  CHECK_FALSE(over);
  runner.end(id, ok_result("output"));
  run_until([&] { return over; });
  CHECK(told == std::vector<std::string>{R"(state "queued")", R"(state "running")",
                                         R"({"progress":0.25})", R"({"progress":0.5})",
                                         R"({"progress":0.75})", R"(done "done")"});
  CHECK(text.find("output_size") != std::string::npos);
  CHECK(text.find("\"output\"") == std::string::npos);
}

TEST_CASE_FIXTURE(EventsFixture, "the end is told at once, without a look at the clock") {
  const std::string id = submit();
  run_until([&] { return runner.running.contains(id); });
  follow(id);
  runner.end(id, failed_result(Outcome::function_error));
  run_until([&] { return over; });
  CHECK(told.back() == R"(done "done")");
}

TEST_CASE_FIXTURE(EventsFixture, "a synchronous call is followed also when it outlives its wait") {
  const auto number = start(seconds(1));
  const std::string id = format_invocation_id(number);
  follow(id);
  CHECK(told == std::vector<std::string>{R"(state "running")"});
  runner.progress = 0.5;
  pass_until_told(2);
  pass_until([&] { return !answers.empty(); });
  CHECK(answers.at(0).outlived);
  runner.progress = 0.75;
  pass_until_told(3);
  runner.end(id, ok_result(""));
  run_until([&] { return over; });
  CHECK(told == std::vector<std::string>{R"(state "running")", R"({"progress":0.5})",
                                         R"({"progress":0.75})", R"(done "done")"});
}

TEST_CASE_FIXTURE(EventsFixture, "a call that nobody remembers ends its stream without an end") {
  const auto number = start();
  follow(format_invocation_id(number));
  runner.end(format_invocation_id(number), ok_result(""));
  for (int i = 0; i < 4; ++i) runner.end(format_invocation_id(start()), ok_result(""));
  CHECK_FALSE(view(number).has_value());
  run_until([&] { return over; });
  CHECK(told == std::vector<std::string>{R"(state "running")"});
  CHECK(text.find("cannot be followed") != std::string::npos);
}

TEST_CASE_FIXTURE(EventsFixture, "who has gone is not told, and leaves its place") {
  const std::string id = submit();
  run_until([&] { return runner.running.contains(id); });
  follow(id);
  CHECK_FALSE(limit.enter(1).has_value());
  source.reset();
  CHECK(limit.enter(1).has_value());
  const std::size_t before = told.size();
  runner.progress = 0.5;
  runner.end(id, ok_result(""));
  run_until([&] { return async.running_count() == 0; });
  CHECK(told.size() == before);
}

TEST_CASE_FIXTURE(EventsFixture, "a gateway that stops is not asked over and over again") {
  const std::string id = submit();
  run_until([&] { return runner.running.contains(id); });
  follow(id);
  async.drain();
  for (int round = 0; round < 100; ++round) {
    control.run_all();
    here.run_all();
  }
  CHECK(control.empty());
  CHECK(here.empty());
}

}  // namespace
}  // namespace orchid::gateway
