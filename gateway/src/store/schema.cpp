#include "store/schema.h"

#include <array>
#include <string>

namespace orchid::gateway {
namespace {

constexpr std::int64_t schema_version = 10;

// Times are milliseconds since 1970. A payload is its content, or the digest of a spool file.
constexpr const char* tables = R"sql(
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tokens (
  hash TEXT PRIMARY KEY, tenant INTEGER NOT NULL, tenant_name TEXT NOT NULL, label TEXT NOT NULL, created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE functions (
  tenant INTEGER NOT NULL, name TEXT NOT NULL, created INTEGER NOT NULL, concurrency INTEGER NOT NULL DEFAULT 0,
  needs TEXT NOT NULL DEFAULT '', PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE TABLE function_versions (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL, function TEXT NOT NULL, digest TEXT NOT NULL,
  manifest TEXT NOT NULL, created INTEGER NOT NULL, deleted INTEGER, needs TEXT, UNIQUE (tenant, function, digest)
);
CREATE TABLE invocations (
  id TEXT PRIMARY KEY, tenant INTEGER NOT NULL, function TEXT NOT NULL, digest TEXT NOT NULL, entry TEXT NOT NULL,
  idempotency_key TEXT, at_most_once INTEGER NOT NULL, accepted INTEGER NOT NULL, deadline INTEGER NOT NULL,
  state INTEGER NOT NULL, attempts INTEGER NOT NULL, outcome TEXT, message TEXT, node TEXT, finished INTEGER,
  timings TEXT, output_size INTEGER, log_dropped INTEGER, lease TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '', host_kind TEXT NOT NULL DEFAULT '', data TEXT NOT NULL DEFAULT '',
  output_data TEXT NOT NULL DEFAULT '', device TEXT NOT NULL DEFAULT '',
  cluster TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX invocations_by_key ON invocations (tenant, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX invocations_by_time ON invocations (tenant, accepted);
CREATE INDEX invocations_unfinished ON invocations (accepted) WHERE state < 2;
CREATE INDEX invocations_finished ON invocations (finished) WHERE state = 2;
CREATE TABLE payloads (
  invocation TEXT NOT NULL, kind INTEGER NOT NULL, content BLOB, spooled TEXT, PRIMARY KEY (invocation, kind)
) WITHOUT ROWID;
CREATE INDEX payloads_spooled ON payloads (spooled) WHERE spooled IS NOT NULL;
CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY, at INTEGER NOT NULL, tenant INTEGER NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL,
  detail TEXT NOT NULL
);
)sql";
// What each layout adds to the one before it; from the second on.
constexpr std::array<const char*, schema_version - 1> additions{
    "ALTER TABLE functions ADD COLUMN concurrency INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE invocations ADD COLUMN lease TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE invocations ADD COLUMN request TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE invocations ADD COLUMN host_kind TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE functions ADD COLUMN needs TEXT NOT NULL DEFAULT ''; "
    "ALTER TABLE function_versions ADD COLUMN needs TEXT",
    "ALTER TABLE invocations ADD COLUMN data TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE invocations ADD COLUMN output_data TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE invocations ADD COLUMN device TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE invocations ADD COLUMN cluster TEXT NOT NULL DEFAULT ''"};

Result<void> bring_up_to_date(Database& database, std::int64_t version) {
  if (version == 0) return database.execute(tables);
  for (auto next = static_cast<std::size_t>(version) - 1; next < additions.size(); ++next)
    if (auto added = database.execute(additions[next]); !added) return added;
  return {};
}

Result<std::int64_t> read_version(Database& database) {
  Statement statement = database.prepare("PRAGMA user_version");
  auto row = statement.step();
  if (!row) return fail(std::move(row.error()));
  return statement.integer(0);
}

}  // namespace

Result<void> prepare_schema(Database& database) {
  // Exclusive comes first: WAL then needs no shared memory, which does not work on NFS homes.
  for (const char* pragma : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL",
                             "PRAGMA synchronous=FULL", "PRAGMA journal_size_limit=67108864"})
    if (auto done = database.execute(pragma); !done) return done;
  auto version = read_version(database);
  if (!version) return fail(std::move(version.error()));
  if (*version == schema_version) return {};
  if (*version > schema_version || *version < 0)
    return fail(ErrorCode::bad_configuration,
                "the state file has layout " + std::to_string(*version) +
                    ", and this gateway knows layout " + std::to_string(schema_version) +
                    ": start the newer orchid-gateway that wrote it");
  if (auto begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun;
  if (auto made = bring_up_to_date(database, *version); !made) return made;
  const std::string stamp = "PRAGMA user_version=" + std::to_string(schema_version);
  if (auto stamped = database.execute(stamp.c_str()); !stamped) return stamped;
  return database.execute("COMMIT");
}

}  // namespace orchid::gateway
