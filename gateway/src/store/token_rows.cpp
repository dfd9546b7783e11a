#include "store/token_rows.h"

#include <array>
#include <bit>

#include "foundation/random.h"

namespace orchid::gateway {

Result<std::vector<TokenRecord>> read_tokens(Database& database) {
  std::vector<TokenRecord> tokens;
  Statement select =
      database.prepare("SELECT hash, tenant, tenant_name, label FROM tokens ORDER BY created");
  while (true) {
    auto row = select.step();
    if (!row) return fail(std::move(row.error()));
    if (!*row) return tokens;
    tokens.push_back({.hash = select.text(0),
                      .tenant = {static_cast<uid_t>(select.integer(1)), select.text(2)},
                      .label = select.text(3)});
  }
}

Result<void> insert_token(Database& database, const TokenRecord& token, UnixMillis created) {
  return database
      .prepare("INSERT INTO tokens (hash, tenant, tenant_name, label, created) VALUES (?,?,?,?,?)")
      .bind(token.hash)
      .bind(std::int64_t{token.tenant.uid})
      .bind(token.tenant.name)
      .bind(token.label)
      .bind(created)
      .run();
}

Result<void> delete_token(Database& database, std::string_view hash) {
  return database.prepare("DELETE FROM tokens WHERE hash = ?").bind(hash).run();
}

Result<std::uint64_t> advance_counter(Database& database, std::string_view name) {
  Statement advance = database.prepare(
      "INSERT INTO counters (name, value) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = "
      "value + 1 RETURNING value");
  auto row = advance.bind(name).step();
  if (!row) return fail(std::move(row.error()));
  const auto value = static_cast<std::uint64_t>(advance.integer(0));
  if (auto rest = advance.step(); !rest) return fail(std::move(rest.error()));
  return value;
}

Result<std::string> read_identity(Database& database) {
  std::array<std::byte, sizeof(std::int64_t)> bytes{};
  fill_random(bytes);
  Statement keep = database.prepare(
      "INSERT INTO counters (name, value) VALUES ('identity', ?) ON CONFLICT (name) DO UPDATE SET "
      "value = value RETURNING value");
  auto row = keep.bind(std::bit_cast<std::int64_t>(bytes)).step();
  if (!row) return fail(std::move(row.error()));
  bytes = std::bit_cast<decltype(bytes)>(keep.integer(0));
  if (auto rest = keep.step(); !rest) return fail(std::move(rest.error()));
  return to_hex(bytes);
}

Result<void> insert_audit(Database& database, const AuditRecord& record) {
  return database
      .prepare("INSERT INTO audit (at, tenant, action, subject, detail) VALUES (?,?,?,?,?)")
      .bind(record.at)
      .bind(std::int64_t{record.tenant})
      .bind(record.action)
      .bind(record.subject)
      .bind(record.detail)
      .run();
}

}  // namespace orchid::gateway
