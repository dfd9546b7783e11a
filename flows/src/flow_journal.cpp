#include "flow_journal.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "flow/decision_text.h"
#include "foundation/files.h"
#include "foundation/numbers.h"
#include "protocol/digest.h"

namespace orchid::flows {
namespace {

constexpr std::int64_t layout = 1;
constexpr std::uint64_t page_bytes = 4096;

// Times are milliseconds since 1970; `at` is in nanoseconds. `body` comes last: it may be large.
constexpr const char* tables = R"sql(
CREATE TABLE flows (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, digest TEXT NOT NULL,
  name TEXT NOT NULL, submitted INTEGER NOT NULL, functions TEXT NOT NULL, done INTEGER, summary TEXT, log TEXT,
  outputs TEXT, body BLOB NOT NULL
);
CREATE TABLE events (
  flow TEXT NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, wall INTEGER NOT NULL, kind INTEGER NOT NULL,
  call INTEGER NOT NULL, outcome TEXT NOT NULL, message TEXT NOT NULL, output BLOB NOT NULL, PRIMARY KEY (flow, sequence)
);
)sql";

/// Later than the others. Programs that do not know it leave it as it is.
constexpr const char* learned_table =
    "CREATE TABLE IF NOT EXISTS learned (number INTEGER PRIMARY KEY, variants TEXT NOT NULL)";

// Older programs leave it alone: then it has plans of flows that have gone, or whose functions have
// changed since, which the digest of these tells.
constexpr const char* table_of_plans =
    "CREATE TABLE IF NOT EXISTS plans "
    "(flow TEXT PRIMARY KEY, functions TEXT NOT NULL, bytes BLOB NOT NULL)";
constexpr const char* forget_plans_of_the_gone =
    "DELETE FROM plans WHERE flow NOT IN (SELECT id FROM flows WHERE done IS NULL)";

/// As the file has them: the alternatives of flow::Event.
enum class Kind : std::int64_t { answered, failed, tick, cancel, go_on, decided };

struct EventRow {
  Kind kind = Kind::tick;
  std::uint64_t call = 0;
  std::string_view outcome;
  std::string_view message;
  std::span<const std::byte> output;
  std::string text{};  // a decision, or how long a call has run; it stands where messages do
};

struct RowOf {
  EventRow operator()(const flow::Answered& e) const {
    return {.kind = Kind::answered,
            .call = e.call.number,
            .outcome = e.host,  // it has no other
            .message = {},
            .output = e.output,
            .text = std::to_string(e.run_time.count())};
  }
  EventRow operator()(const flow::CallFailed& e) const {
    return {.kind = Kind::failed,
            .call = e.call.number,
            .outcome = e.outcome,
            .message = e.message,
            .output = std::as_bytes(std::span(e.lost))};
  }
  EventRow operator()(const flow::Tick&) const { return {.kind = Kind::tick}; }
  EventRow operator()(const flow::Cancel&) const { return {.kind = Kind::cancel}; }
  EventRow operator()(const flow::GoOn&) const { return {.kind = Kind::go_on}; }
  EventRow operator()(const flow::Decided& e) const {
    return {.kind = Kind::decided,
            .outcome = {},
            .message = {},
            .output = {},
            .text = flow::to_json(e)};
  }
};

/// Of a failed call the output is which data was lost.
std::vector<DataId> ids_of(const flow::Bytes& bytes) {
  std::vector<DataId> ids(bytes.size() / sizeof(DataId));
  std::memcpy(ids.data(), bytes.data(), ids.size() * sizeof(DataId));
  return ids;
}

Result<flow::Event> event_of(const Statement& row) {
  const flow::CallId call{.run = 0, .number = static_cast<std::uint64_t>(row.integer(3))};
  switch (static_cast<Kind>(row.integer(2))) {
    case Kind::answered:
      // Those of before there were optimisers say nothing of how long they have run.
      return flow::Answered{
          .call = call,
          .output = row.blob(6),
          .run_time = flow::Time(parse_number<std::int64_t>(row.text(5)).value_or(0)),
          .host = row.text(4)};
    case Kind::failed:
      return flow::CallFailed{.call = call,
                              .outcome = row.text(4),
                              .message = row.text(5),
                              .lost = ids_of(row.blob(6))};
    case Kind::tick:
      return flow::Tick{};
    case Kind::cancel:
      return flow::Cancel{};
    case Kind::go_on:
      return flow::GoOn{};
    case Kind::decided: {
      auto decided = flow::parse_decided(row.text(5));
      if (!decided) return fail(std::move(decided.error()));
      return std::move(*decided);
    }
  }
  return fail(ErrorCode::bad_configuration, "the journal has an event of an unknown kind");
}

Failure explained(Failure failure) {
  if (failure.code == ErrorCode::disk_full)
    failure.message =
        "there is no more room for flows, on disk or within what one user may have: delete flows "
        "that have ended ('orchid flow list'), then 'orchid flow resume' those that are suspended";
  return failure;
}

}  // namespace

Result<std::unique_ptr<FlowJournal>> FlowJournal::open(const Options& options) {
  auto database = Database::open(options.file);
  if (!database) return fail(std::move(database.error()));
  std::unique_ptr<FlowJournal> journal(new FlowJournal(std::move(*database)));
  if (auto prepared = journal->prepare(options.most); !prepared)
    return fail(std::move(prepared.error()));
  return journal;
}

Result<void> FlowJournal::prepare(ByteCount most) {
  // The process before this one may not have ended yet. With an exclusive lock the log of writes
  // needs no shared memory, which does not work on NFS homes.
  for (const char* pragma : {"PRAGMA busy_timeout=5000", "PRAGMA locking_mode=EXCLUSIVE",
                             "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
                             "PRAGMA temp_store=MEMORY", "PRAGMA journal_size_limit=67108864"})
    if (auto done = database_->execute(pragma); !done) return done;
  const std::string pages = "PRAGMA max_page_count=" +
                            std::to_string(std::max<std::uint64_t>(most.value / page_bytes, 16));
  if (auto done = database_->execute(pages.c_str()); !done) return done;
  std::int64_t version = 0;
  {
    Statement statement = database_->prepare("PRAGMA user_version");
    auto row = statement.step();
    if (!row) return fail(std::move(row.error()));
    version = statement.integer(0);
  }
  if (version > layout)
    return fail(ErrorCode::bad_configuration, "the file of flows is of a newer orchid-flows");
  auto prepared = in_transaction([&]() -> Result<void> {
    if (version == 0)
      if (auto made = database_->execute(tables); !made) return made;
    // Writes in any case: from now on all of its files are open.
    return database_->execute("PRAGMA user_version=1");
  });
  if (!prepared) return prepared;
  return prepare_later_tables();
}

/// A full file of before there were these may have no room for them, and is read without.
Result<void> FlowJournal::prepare_later_tables() {
  auto learned = in_transaction([&] { return database_->execute(learned_table); });
  if (!learned && learned.error().code != ErrorCode::disk_full) return learned;
  has_learned_ = learned.has_value();
  auto made = in_transaction([&] { return database_->execute(table_of_plans); });
  if (!made && made.error().code != ErrorCode::disk_full) return made;
  has_plans_ = made.has_value();
  if (has_plans_)
    (void)in_transaction([&] { return database_->execute(forget_plans_of_the_gone); });
  return {};
}

template <typename Work>
Result<void> FlowJournal::in_transaction(Work work) {
  if (auto begun = database_->execute("BEGIN IMMEDIATE"); !begun)
    return fail(explained(std::move(begun.error())));
  auto done = work();
  if (done) done = database_->execute("COMMIT");
  if (done) return {};
  // SQLite has gone back by itself where it had to; then this says that there is nothing to undo.
  (void)database_->execute("ROLLBACK");
  return fail(explained(std::move(done.error())));
}

template <typename Work>
Result<void> FlowJournal::with_plan(std::span<const std::byte> plan, const Work& work) {
  if (has_plans_ && !plan.empty())
    if (auto kept = work(plan); kept || kept.error().code != ErrorCode::disk_full) return kept;
  return work(std::span<const std::byte>{});
}

Result<void> FlowJournal::insert(const FlowRecord& flow) {
  return with_plan(flow.plan, [&](std::span<const std::byte> plan) { return insert(flow, plan); });
}

Result<void> FlowJournal::keep_plan(const std::string& flow, const FunctionChange& what) {
  if (what.plan.empty()) return {};
  const std::string functions = digest_of(as_bytes(what.functions));
  return database_->prepare("INSERT INTO plans VALUES (?, ?, ?)")
      .bind(std::string_view(flow))
      .bind(std::string_view(functions))
      .bind(what.plan)
      .run();
}

Result<void> FlowJournal::insert(const FlowRecord& flow, std::span<const std::byte> plan) {
  return in_transaction([&]() -> Result<void> {
    if (auto kept = keep_plan(flow.id, {.functions = flow.functions, .plan = plan}); !kept)
      return kept;
    return database_
        ->prepare(
            "INSERT INTO flows (id, key, digest, name, submitted, functions, body) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)")
        .bind(std::string_view(flow.id))
        .bind(std::string_view(flow.key))
        .bind(std::string_view(flow.digest))
        .bind(std::string_view(flow.name))
        .bind(flow.submitted)
        .bind(std::string_view(flow.functions))
        .bind(std::span<const std::byte>(flow.body))
        .run();
  });
}

Result<void> FlowJournal::append_one(const JournalEntry& entry) {
  const EventRow row = std::visit(RowOf{}, entry.event->event);
  return database_->prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(std::string_view(entry.flow))
      .bind(static_cast<std::int64_t>(entry.sequence))
      .bind(static_cast<std::int64_t>(entry.event->at.count()))
      .bind(entry.event->wall)
      .bind(static_cast<std::int64_t>(row.kind))
      .bind(static_cast<std::int64_t>(row.call))
      .bind(row.outcome)
      .bind(row.text.empty() ? row.message : std::string_view(row.text))
      .bind(row.output)
      .run();
}

Result<void> FlowJournal::forget_plan(const std::string& flow) {
  if (!has_plans_) return {};
  return database_->prepare("DELETE FROM plans WHERE flow = ?").bind(std::string_view(flow)).run();
}

Result<void> FlowJournal::append(std::span<const JournalEntry> entries) {
  if (entries.empty()) return {};
  return in_transaction([&]() -> Result<void> {
    for (const JournalEntry& entry : entries)
      if (auto added = append_one(entry); !added) return added;
    return {};
  });
}

Result<void> FlowJournal::append(const JournalEntry& entry, const FunctionChange& change) {
  const auto with = [&](std::span<const std::byte> plan) {
    return in_transaction([&]() -> Result<void> {
      auto noted = database_->prepare("UPDATE flows SET functions = ? WHERE id = ?")
                       .bind(std::string_view(change.functions))
                       .bind(std::string_view(entry.flow))
                       .run();
      if (!noted) return noted;
      if (auto gone = forget_plan(entry.flow); !gone) return gone;
      if (auto kept = keep_plan(entry.flow, {.functions = change.functions, .plan = plan}); !kept)
        return kept;
      return append_one(entry);
    });
  };
  return with_plan(change.plan, with);
}

Result<void> FlowJournal::finish(const std::string& flow, const DoneFlow& done,
                                 std::string_view outputs) {
  return in_transaction([&]() -> Result<void> {
    auto forgotten =
        database_->prepare("DELETE FROM events WHERE flow = ?").bind(std::string_view(flow)).run();
    if (!forgotten) return forgotten;
    if (auto gone = forget_plan(flow); !gone) return gone;
    return database_
        ->prepare("UPDATE flows SET done = ?, summary = ?, log = ?, outputs = ? WHERE id = ?")
        .bind(done.at)
        .bind(std::string_view(done.summary))
        .bind(std::string_view(done.log))
        .bind(outputs)
        .bind(std::string_view(flow))
        .run();
  });
}

Result<void> FlowJournal::remove(const std::string& flow) {
  return in_transaction([&]() -> Result<void> {
    auto forgotten =
        database_->prepare("DELETE FROM events WHERE flow = ?").bind(std::string_view(flow)).run();
    if (!forgotten) return forgotten;
    if (auto gone = forget_plan(flow); !gone) return gone;
    return database_->prepare("DELETE FROM flows WHERE id = ?").bind(std::string_view(flow)).run();
  });
}

Result<std::string> FlowJournal::learned() {
  if (!has_learned_) return std::string();
  Statement row = database_->prepare("SELECT variants FROM learned WHERE number = 1");
  auto found = row.step();
  if (!found) return fail(std::move(found.error()));
  return *found ? row.text(0) : std::string();
}

Result<void> FlowJournal::keep_learned(std::string_view json) {
  if (!has_learned_)
    return fail(explained({.code = ErrorCode::disk_full, .message = "there is no table for it"}));
  return in_transaction([&] {
    return database_->prepare("INSERT OR REPLACE INTO learned VALUES (1, ?)").bind(json).run();
  });
}

Result<std::vector<FlowRecord>> FlowJournal::flows() {
  std::vector<FlowRecord> flows;
  Statement rows = database_->prepare(
      "SELECT id, key, digest, name, submitted, functions, done, summary, log FROM flows "
      "ORDER BY number");
  while (true) {
    auto row = rows.step();
    if (!row) return fail(std::move(row.error()));
    if (!*row) return flows;
    FlowRecord flow{.id = rows.text(0),
                    .key = rows.text(1),
                    .digest = rows.text(2),
                    .name = rows.text(3),
                    .submitted = rows.integer(4),
                    .functions = rows.text(5),
                    .body = {},
                    .plan = {},
                    .done = std::nullopt};
    if (!rows.is_null(6))
      flow.done = DoneFlow{.at = rows.integer(6), .summary = rows.text(7), .log = rows.text(8)};
    flows.push_back(std::move(flow));
  }
}

Result<std::vector<std::byte>> FlowJournal::body(const std::string& flow) {
  Statement row = database_->prepare("SELECT body FROM flows WHERE id = ?");
  auto found = row.bind(std::string_view(flow)).step();
  if (!found) return fail(std::move(found.error()));
  if (!*found) return fail(ErrorCode::not_found, "the journal has no flow " + flow);
  return row.blob(0);
}

std::vector<std::byte> FlowJournal::plan(const FlowRecord& flow) {
  if (!has_plans_) return {};
  Statement row = database_->prepare("SELECT bytes FROM plans WHERE flow = ? AND functions = ?");
  const std::string functions = digest_of(as_bytes(flow.functions));
  auto found = row.bind(std::string_view(flow.id)).bind(std::string_view(functions)).step();
  return found && *found ? row.blob(0) : std::vector<std::byte>{};
}

Result<std::string> FlowJournal::outputs(const std::string& flow) {
  Statement row = database_->prepare("SELECT outputs FROM flows WHERE id = ?");
  auto found = row.bind(std::string_view(flow)).step();
  if (!found) return fail(std::move(found.error()));
  if (!*found) return fail(ErrorCode::not_found, "the journal has no flow " + flow);
  return row.text(0);
}

Result<std::vector<JournalEvent>> FlowJournal::events(const std::string& flow) {
  std::vector<JournalEvent> events;
  Statement rows = database_->prepare(
      "SELECT at, wall, kind, call, outcome, message, output FROM events WHERE flow = ? "
      "ORDER BY sequence");
  rows.bind(std::string_view(flow));
  while (true) {
    auto row = rows.step();
    if (!row) return fail(std::move(row.error()));
    if (!*row) return events;
    auto event = event_of(rows);
    if (!event) return fail(std::move(event.error()));
    events.push_back(
        {.event = std::move(*event), .at = flow::Time(rows.integer(0)), .wall = rows.integer(1)});
  }
}

}  // namespace orchid::flows
