#include "store/function_rows.h"

namespace orchid::gateway {

Result<void> write_version(Database& database, const VersionRecord& version) {
  auto named =
      database.prepare("INSERT OR IGNORE INTO functions (tenant, name, created) VALUES (?,?,?)")
          .bind(std::int64_t{version.tenant})
          .bind(version.function)
          .bind(version.created)
          .run();
  if (!named) return named;
  if (auto limited = write_options(database, version.tenant, version.function,
                                   {.concurrency = version.concurrency, .needs = version.needs});
      !limited)
    return limited;
  auto removed =
      database
          .prepare("DELETE FROM function_versions WHERE tenant = ? AND function = ? AND digest = ?")
          .bind(std::int64_t{version.tenant})
          .bind(version.function)
          .bind(version.digest)
          .run();
  if (!removed) return removed;
  return database
      .prepare(
          "INSERT INTO function_versions (tenant, function, digest, manifest, created) VALUES "
          "(?,?,?,?,?)")
      .bind(std::int64_t{version.tenant})
      .bind(version.function)
      .bind(version.digest)
      .bind(version.manifest)
      .bind(version.created)
      .run();
}

Result<void> write_options(Database& database, uid_t tenant, const std::string& function,
                           const StoredOptions& options) {
  return database
      .prepare("UPDATE functions SET concurrency = ?, needs = ? WHERE tenant = ? AND name = ?")
      .bind(std::int64_t{options.concurrency})
      .bind(options.needs)
      .bind(std::int64_t{tenant})
      .bind(function)
      .run();
}

Result<void> mark_function_deleted(Database& database, uid_t tenant, const std::string& function,
                                   UnixMillis at) {
  // Calls that were accepted before run as they were meant to, whatever comes under this name.
  auto kept = database
                  .prepare(
                      "UPDATE function_versions AS v SET deleted = coalesce(v.deleted, ?), needs = "
                      "f.needs FROM functions AS f WHERE f.tenant = v.tenant AND f.name = "
                      "v.function AND v.tenant = ? AND v.function = ? AND v.needs IS NULL")
                  .bind(at)
                  .bind(std::int64_t{tenant})
                  .bind(function)
                  .run();
  if (!kept) return kept;
  auto removed = database.prepare("DELETE FROM functions WHERE tenant = ? AND name = ?")
                     .bind(std::int64_t{tenant})
                     .bind(function)
                     .run();
  if (!removed) return removed;
  if (database.changes() == 0)
    return fail(ErrorCode::not_found, "there is no function '" + function + "'");
  return {};
}

Result<void> mark_version_deleted(Database& database, uid_t tenant, const std::string& function,
                                  const std::string& digest, UnixMillis at) {
  return database
      .prepare(
          "UPDATE function_versions SET deleted = ? WHERE tenant = ? AND function = ? AND digest = "
          "?")
      .bind(at)
      .bind(std::int64_t{tenant})
      .bind(function)
      .bind(digest)
      .run();
}

Result<std::vector<VersionRecord>> read_versions(Database& database) {
  std::vector<VersionRecord> versions;
  Statement select = database.prepare(
      "SELECT v.tenant, v.function, v.digest, v.manifest, v.created, v.deleted, "
      "coalesce(f.concurrency, 0), coalesce(v.needs, f.needs, ''), v.needs IS NOT NULL FROM "
      "function_versions AS v LEFT JOIN functions AS f ON f.tenant = v.tenant AND "
      "f.name = v.function AND v.needs IS NULL ORDER BY v.sequence");
  while (true) {
    auto row = select.step();
    if (!row) return fail(std::move(row.error()));
    if (!*row) return versions;
    versions.push_back({.tenant = static_cast<uid_t>(select.integer(0)),
                        .function = select.text(1),
                        .digest = select.text(2),
                        .manifest = select.text(3),
                        .created = select.integer(4),
                        .deleted = !select.is_null(5),
                        .with_its_function = select.integer(8) != 0,
                        .concurrency = static_cast<unsigned>(select.integer(6)),
                        .needs = select.text(7),
                        .module = {}});
  }
}

Result<std::vector<std::string>> drop_deleted_versions(Database& database, UnixMillis before) {
  std::vector<std::string> digests;
  Statement dropped = database.prepare(
      "DELETE FROM function_versions WHERE deleted < ? AND NOT EXISTS (SELECT 1 FROM invocations "
      "AS i "
      "WHERE i.state < 2 AND i.tenant = function_versions.tenant AND i.function = "
      "function_versions.function AND i.digest = function_versions.digest) RETURNING digest");
  dropped.bind(before);
  while (true) {
    auto row = dropped.step();
    if (!row) return fail(std::move(row.error()));
    if (!*row) return digests;
    digests.push_back(dropped.text(0));
  }
}

Result<bool> is_module_used(Database& database, const std::string& digest) {
  return database.prepare("SELECT 1 FROM function_versions WHERE digest = ? LIMIT 1")
      .bind(digest)
      .step();
}

}  // namespace orchid::gateway
