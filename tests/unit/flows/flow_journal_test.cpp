#include "flow_journal.h"

#include <doctest/doctest.h>

#include <random>

#include "database/database.h"
#include "flow_run.h"
#include "scratch_folder.h"
#include "submitted_flows.h"

namespace orchid::flows {
namespace {

constexpr ByteCount plenty = 64_MiB;

std::unique_ptr<FlowJournal> journal_in(const tests::Scratch& folder, ByteCount most = plenty) {
  auto journal = FlowJournal::open({.file = folder / "flows.db", .most = most});
  REQUIRE_MESSAGE(journal.has_value(), (journal ? std::string() : journal.error().message));
  return std::move(*journal);
}

FlowRecord record_of(const std::string& id, std::vector<std::byte> body) {
  return {.id = id,
          .key = "key-" + id,
          .digest = "digest",
          .name = "all",
          .submitted = 1000,
          .functions = "{}",
          .body = std::move(body),
          .plan = {std::byte{1}, std::byte{2}},
          .done = std::nullopt};
}

void write(FlowJournal& journal, const std::string& flow, std::uint64_t sequence,
           const JournalEvent& event) {
  const JournalEntry entry{.flow = flow, .sequence = sequence, .event = &event};
  REQUIRE(journal.append({&entry, 1}).has_value());
}

std::vector<std::uint64_t> numbers_of(const FlowRun& run) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, call] : run.open_calls()) numbers.push_back(number);
  return numbers;
}

/// What somebody else could see of a flow at one moment.
struct Seen {
  std::string snapshot;
  std::vector<std::uint64_t> open;
  std::string nodes;
  std::string log;
  friend bool operator==(const Seen&, const Seen&) = default;
};
Seen seen(const FlowRun& run) {
  return {.snapshot = run.engine().snapshot(),
          .open = numbers_of(run),
          .nodes = run.nodes(),
          .log = run.log()};
}

/// What happens next to a flow: an answer, a failure, time that passes, a cancel; it goes on when
/// it has failed.
flow::Event next_event(const FlowRun& run, std::mt19937_64& random) {
  if (run.outcome() != flow::FlowOutcome::running) return flow::GoOn{};
  const auto chance = random() % 40;
  if (chance == 0) return flow::Cancel{};
  if (run.open_calls().empty() || (run.wake() && chance < 8)) return flow::Tick{};
  auto call = run.open_calls().begin();
  std::advance(call, static_cast<std::ptrdiff_t>(random() % run.open_calls().size()));
  if (chance < 12)
    return flow::CallFailed{
        .call = call->second.call, .outcome = "worker_lost", .message = "it has gone"};
  return flow::answer_to(call->second);
}

/// Runs a flow to its end with all its events in the journal, and what was seen after each.
std::vector<Seen> run_to_its_end(FlowJournal& journal, const std::string& id,
                                 const std::vector<std::byte>& body, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto run = FlowRun::create(ready_flow(body)).value();
  std::vector<Seen> all{seen(*run)};
  flow::Event event = flow::Tick{};
  flow::Time now{};
  while (run->outcome() != flow::FlowOutcome::done && run->events() < 5'000) {
    now += std::chrono::milliseconds(random() % 200);
    const JournalEvent stamp{.event = std::move(event), .at = now, .wall = 1000 + now.count()};
    write(journal, id, run->events(), stamp);
    (void)run->apply(stamp);
    all.push_back(seen(*run));
    event = next_event(*run, random);
  }
  REQUIRE(run->outcome() == flow::FlowOutcome::done);
  CHECK(run->outputs().value().find(R"("total":156)") != std::string::npos);
  return all;
}

}  // namespace

TEST_CASE("a plan is kept until its flow is done, or another one comes with other functions") {
  const tests::Scratch folder;
  const std::vector<std::byte> nothing;
  const std::vector<std::byte> other{std::byte{3}};
  // As a program that knows no plans would write.
  FlowRecord changed = record_of("fl-1", {});
  changed.functions = R"({"f":["bytes","f@0123456789ab"]})";
  {
    const auto journal = journal_in(folder);
    for (const char* id : {"fl-1", "fl-2", "fl-3", "fl-4", "fl-5"})
      REQUIRE(journal->insert(record_of(id, {})).has_value());
    const JournalEvent goes_on{.event = flow::GoOn{}};
    REQUIRE(journal
                ->append({.flow = "fl-2", .sequence = 0, .event = &goes_on},
                         {.functions = "{}", .plan = nothing})
                .has_value());
    REQUIRE(journal
                ->append({.flow = "fl-5", .sequence = 0, .event = &goes_on},
                         {.functions = changed.functions, .plan = other})
                .has_value());
    REQUIRE(journal->finish("fl-3", {.at = 5, .summary = "{}", .log = ""}, "{}").has_value());
    REQUIRE(journal->remove("fl-4").has_value());
  }
  const auto journal = journal_in(folder);
  CHECK(journal->plan(record_of("fl-1", {})) == record_of("", {}).plan);
  for (const char* id : {"fl-2", "fl-3", "fl-4"})
    CHECK(journal->plan(record_of(id, {})) == nothing);
  CHECK(journal->plan(changed) == nothing);
  changed.id = "fl-5";
  CHECK(journal->plan(changed) == other);
  CHECK(journal->plan(record_of("fl-5", {})) == nothing);
}

TEST_CASE("a flow is kept without its plan where there is no room for that") {
  const tests::Scratch folder;
  const auto journal = journal_in(folder, 1_MiB);
  FlowRecord record = record_of("fl-1", std::vector<std::byte>(1'000));
  record.plan = std::vector<std::byte>(2'000'000);
  REQUIRE(journal->insert(record).has_value());
  CHECK(journal->flows().value().size() == 1);
  CHECK(journal->plan(record).empty());
  FlowRecord small = record_of("fl-2", {});
  REQUIRE(journal->insert(small).has_value());
  const JournalEvent goes_on{.event = flow::GoOn{}};
  REQUIRE(journal
              ->append({.flow = "fl-2", .sequence = 0, .event = &goes_on},
                       {.functions = small.functions, .plan = record.plan})
              .has_value());
  CHECK(journal->plan(small).empty());
  CHECK(journal->events("fl-2").value().size() == 1);
}

TEST_CASE("a full journal of before there were plans is opened, and gives its flows") {
  const tests::Scratch folder;
  (void)journal_in(folder, 1_MiB);
  REQUIRE(Database::open(folder / "flows.db")
              .value()
              ->execute("DROP TABLE plans; DROP TABLE learned")
              .has_value());
  // A file with the limit of before, and no room for one more page.
  std::size_t kept = 0;
  {
    const auto database = Database::open(folder / "flows.db").value();
    REQUIRE(database->execute("PRAGMA max_page_count=256").has_value());
    for (const char* size : {"50000", "5000", "500", "50"}) {
      const std::string insert =
          std::string("INSERT INTO flows (id, key, digest, name, submitted, ") +
          "functions, body) VALUES (hex(randomblob(8)), hex(randomblob(8)), " +
          "'', '', 1, '{}', zeroblob(" + size + "))";
      while (database->execute(insert.c_str())) ++kept;
    }
  }
  REQUIRE(kept > 20);
  const auto journal = journal_in(folder, 1_MiB);
  auto flows = journal->flows().value();
  CHECK(flows.size() == kept);
  CHECK(journal->plan(flows.front()).empty());
  CHECK(journal->learned().value().empty());
  CHECK(journal->keep_learned("[]").error().code == ErrorCode::disk_full);
  REQUIRE(journal->remove(flows.front().id).has_value());
  REQUIRE(journal->insert(record_of("fl-1", {})).has_value());
}

TEST_CASE("any beginning of a journal gives the flow as it was then, with the same calls open") {
  const std::vector<std::byte> body = body_of(flow::four_kinds(), {{"n", 12}, {"wanted", 9}});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const tests::Scratch folder;
    std::vector<Seen> all;
    {
      const auto journal = journal_in(folder);
      REQUIRE(journal->insert(record_of("fl-1", body)).has_value());
      all = run_to_its_end(*journal, "fl-1", body, seed);
    }
    const auto journal = journal_in(folder);  // as after kill -9
    const auto events = journal->events("fl-1").value();
    REQUIRE(events.size() + 1 == all.size());
    const auto again = FlowRun::create(ready_flow(journal->body("fl-1").value())).value();
    bool same = seen(*again) == all[0];
    for (std::size_t i = 0; i < events.size(); ++i) {
      (void)again->apply(events[i]);
      same = same && seen(*again) == all[i + 1];
    }
    CHECK(same);
  }
}

TEST_CASE("a flow that is done leaves its outputs, and no events") {
  const tests::Scratch folder;
  const std::vector<std::byte> body = body_of(flow::four_kinds(), {{"n", 12}, {"wanted", 9}});
  {
    const auto journal = journal_in(folder);
    REQUIRE(journal->insert(record_of("fl-1", body)).has_value());
    REQUIRE(journal->insert(record_of("fl-2", body)).has_value());
    write(*journal, "fl-1", 0, {.event = flow::Tick{}});
    REQUIRE(
        journal->finish("fl-1", {.at = 5, .summary = "{}", .log = "all"}, "{\"r\":1}").has_value());
    REQUIRE(journal->remove("fl-2").has_value());
  }
  const auto journal = journal_in(folder);
  const auto flows = journal->flows().value();
  REQUIRE(flows.size() == 1);
  CHECK(flows[0].id == "fl-1");
  CHECK(flows[0].key == "key-fl-1");
  REQUIRE(flows[0].done.has_value());
  CHECK(flows[0].done->at == 5);
  CHECK(flows[0].done->log == "all");
  CHECK(journal->outputs("fl-1").value() == "{\"r\":1}");
  CHECK(journal->events("fl-1").value().empty());
  CHECK(journal->body("fl-2").error().code == ErrorCode::not_found);
}

TEST_CASE("an answer is read as it was written, with how long it took and where") {
  const tests::Scratch folder;
  const flow::Answered written{.call = {.run = 0, .number = 9},
                               .output = {std::byte{1}, std::byte{2}},
                               .run_time = std::chrono::microseconds(70),
                               .host = "n1"};
  {
    const auto journal = journal_in(folder);
    REQUIRE(journal->insert(record_of("fl-1", {})).has_value());
    write(*journal, "fl-1", 0, {.event = written});
  }
  const auto events = journal_in(folder)->events("fl-1").value();
  REQUIRE(events.size() == 1);
  const auto& read = std::get<flow::Answered>(events[0].event);
  CHECK(read.call == written.call);
  CHECK(read.output == written.output);
  CHECK(read.run_time == written.run_time);
  CHECK(read.host == "n1");
}

TEST_CASE("what flows have learned stays, and the newest counts") {
  const tests::Scratch folder;
  {
    const auto journal = journal_in(folder);
    CHECK(journal->learned().value().empty());
    REQUIRE(journal->keep_learned("{\"variants\":[]}").has_value());
    REQUIRE(journal->keep_learned("{\"variants\":[1]}").has_value());
  }
  CHECK(journal_in(folder)->learned().value() == "{\"variants\":[1]}");
}

TEST_CASE("what does not fit is not there at all, and what was there stays") {
  const tests::Scratch folder;
  const auto journal = journal_in(folder, 1_MiB);
  REQUIRE(journal->insert(record_of("fl-1", std::vector<std::byte>(1000))).has_value());
  const auto large = journal->insert(record_of("fl-2", std::vector<std::byte>(2'000'000)));
  REQUIRE_FALSE(large.has_value());
  CHECK(large.error().code == ErrorCode::disk_full);
  CHECK(large.error().message.find("delete flows") != std::string::npos);

  const JournalEvent small{.event = flow::Tick{}};
  const JournalEvent huge{.event = flow::Answered{.call = {}, .output = flow::Bytes(2'000'000)}};
  const std::vector<JournalEntry> both{{.flow = "fl-1", .sequence = 0, .event = &small},
                                       {.flow = "fl-1", .sequence = 1, .event = &huge}};
  CHECK(journal->append(both).error().code == ErrorCode::disk_full);
  CHECK(journal->events("fl-1").value().empty());
  write(*journal, "fl-1", 0, small);
  CHECK(journal->events("fl-1").value().size() == 1);
}

TEST_CASE("a file of a newer program is left alone") {
  const tests::Scratch folder;
  {
    auto database = Database::open(folder / "flows.db");
    REQUIRE(database.has_value());
    REQUIRE((*database)->execute("PRAGMA user_version=7").has_value());
  }
  const auto newer = FlowJournal::open({.file = folder / "flows.db"});
  REQUIRE_FALSE(newer.has_value());
  CHECK(newer.error().code == ErrorCode::bad_configuration);
}

}  // namespace orchid::flows
