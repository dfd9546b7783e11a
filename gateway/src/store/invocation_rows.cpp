#include "store/invocation_rows.h"

#include <array>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

#define ORCHID_INVOCATION_COLUMNS                                                            \
  "id, tenant, function, digest, entry, idempotency_key, at_most_once, accepted, deadline, " \
  "state, attempts, outcome, message, node, finished, timings, output_size, log_dropped, "   \
  "lease, request, host_kind, data, output_data, device, cluster"

/// Seven numbers: microseconds, the fifth nanoseconds, the sixth 1 for quick code (older rows have
/// neither that nor the seventh).
std::string pack_timings(const CallTimings& t) {
  std::string text;
  for (const std::int64_t part :
       {t.queue.count(), t.place.count(), t.compile.count(), t.link.count(), t.run.count(),
        static_cast<std::int64_t>(t.quick_code), t.transfer.count()}) {
    if (!text.empty()) text += ' ';
    text += std::to_string(part);
  }
  return text;
}

CallTimings unpack_timings(const std::string& text) {
  std::array<std::int64_t, 7> parts{};
  std::string_view rest = text;
  for (std::int64_t& part : parts) {
    part = take_number<std::int64_t>(rest).value_or(0);
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
  }
  using std::chrono::microseconds;
  return {microseconds(parts[0]),
          microseconds(parts[1]),
          microseconds(parts[2]),
          microseconds(parts[3]),
          std::chrono::nanoseconds(parts[4]),
          parts[5] != 0,
          microseconds(parts[6])};
}

std::optional<std::int64_t> optional_integer(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.integer(column);
}

InvocationRecord read_row(const Statement& row) {
  InvocationRecord record;
  record.id = row.text(0);
  record.tenant = static_cast<uid_t>(row.integer(1));
  record.function = row.text(2);
  record.digest = row.text(3);
  record.entry = row.text(4);
  if (!row.is_null(5)) record.idempotency_key = row.text(5);
  record.at_most_once = row.integer(6) != 0;
  record.accepted = row.integer(7);
  record.deadline = row.integer(8);
  record.state = static_cast<StoredState>(row.integer(9));
  record.attempts = static_cast<unsigned>(row.integer(10));
  if (!row.is_null(11)) record.outcome = parse_outcome(row.text(11));
  record.message = row.text(12);
  record.node = row.text(13);
  record.finished = optional_integer(row, 14);
  record.timings = unpack_timings(row.text(15));
  record.output_size = static_cast<std::uint64_t>(row.integer(16));
  record.log_dropped = static_cast<std::uint64_t>(row.integer(17));
  record.lease = parse_lease_id(row.text(18)).value_or(LeaseId{});
  record.request = row.text(19);
  record.kind = placement::parse_host_kind(row.text(20));
  record.data = row.text(21);
  record.output_data = row.text(22);
  record.device = placement::parse_call_device(row.text(23));
  record.cluster = row.text(24);
  return record;
}

Result<std::optional<InvocationRecord>> read_one(Statement& select) {
  auto row = select.step();
  if (!row) return fail(std::move(row.error()));
  if (!*row) return std::optional<InvocationRecord>{};
  return std::optional(read_row(select));
}

Result<std::vector<InvocationRecord>> read_all(Statement& select) {
  std::vector<InvocationRecord> records;
  while (true) {
    auto row = select.step();
    if (!row) return fail(std::move(row.error()));
    if (!*row) return records;
    records.push_back(read_row(select));
  }
}

constexpr std::int64_t number(PayloadKind kind) { return static_cast<std::int64_t>(kind); }
constexpr std::int64_t number(StoredState state) { return static_cast<std::int64_t>(state); }

}  // namespace

Result<void> insert_invocation(Database& database, const InvocationRecord& record) {
  return database
      .prepare(
          "INSERT INTO invocations (id, tenant, function, digest, entry, idempotency_key, "
          "at_most_once, accepted, deadline, state, attempts, request, host_kind, data, "
          "output_data, device, cluster) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(record.id)
      .bind(std::int64_t{record.tenant})
      .bind(record.function)
      .bind(record.digest)
      .bind(record.entry)
      .bind_optional(record.idempotency_key)
      .bind(std::int64_t{record.at_most_once})
      .bind(record.accepted)
      .bind(record.deadline)
      .bind(number(record.state))
      .bind(std::int64_t{record.attempts})
      .bind(record.request)
      .bind(std::string(record.kind ? to_string(*record.kind) : ""))
      .bind(record.data)
      .bind(record.output_data)
      .bind(std::string(record.device ? to_string(*record.device) : ""))
      .bind(record.cluster)
      .run();
}

Result<std::optional<InvocationRecord>> find_by_key(Database& database, uid_t tenant,
                                                    const std::string& key) {
  Statement select = database.prepare("SELECT " ORCHID_INVOCATION_COLUMNS
                                      " FROM invocations WHERE tenant = ? AND idempotency_key = ?");
  select.bind(std::int64_t{tenant}).bind(key);
  return read_one(select);
}

Result<std::optional<InvocationRecord>> find_invocation(Database& database, uid_t tenant,
                                                        const std::string& id) {
  Statement select = database.prepare("SELECT " ORCHID_INVOCATION_COLUMNS
                                      " FROM invocations WHERE id = ? AND tenant = ?");
  select.bind(id).bind(std::int64_t{tenant});
  return read_one(select);
}

Result<std::vector<InvocationRecord>> list_invocations(Database& database,
                                                       const InvocationFilter& filter) {
  const bool by_key = !filter.key_begins.empty();
  // Apart, so that a key is looked up.
  Statement select = database.prepare(
      by_key ? "SELECT " ORCHID_INVOCATION_COLUMNS
               " FROM invocations WHERE tenant = ? AND (?2 IS NULL OR (state = 2) = ?2) AND "
               "idempotency_key >= ?4 AND idempotency_key < ?5 ORDER BY accepted DESC, rowid DESC "
               "LIMIT ?3"
             : "SELECT " ORCHID_INVOCATION_COLUMNS
               " FROM invocations WHERE tenant = ? AND (?2 IS NULL OR (state = 2) = ?2) ORDER BY "
               "accepted DESC, rowid DESC LIMIT ?3");
  select.bind(std::int64_t{filter.tenant});
  if (filter.finished) {
    select.bind(std::int64_t{*filter.finished});
  } else {
    select.bind_null();
  }
  select.bind(static_cast<std::int64_t>(filter.limit));
  if (by_key) {
    select.bind(filter.key_begins);
    select.bind(filter.key_begins + '\xff');  // behind whatever text goes on with
  }
  return read_all(select);
}

Result<std::vector<InvocationRecord>> unfinished_invocations(Database& database) {
  Statement select = database.prepare("SELECT " ORCHID_INVOCATION_COLUMNS
                                      " FROM invocations WHERE state < 2 ORDER BY accepted, rowid");
  return read_all(select);
}

Result<void> mark_unfinished(Database& database, const std::string& id, StoredState state,
                             unsigned attempts) {
  return database
      .prepare("UPDATE invocations SET state = ?, attempts = ? WHERE id = ? AND state < 2")
      .bind(number(state))
      .bind(std::int64_t{attempts})
      .bind(id)
      .run();
}

Result<void> mark_finished(Database& database, const InvocationRecord& record) {
  const std::optional<std::string> outcome =
      record.outcome ? std::optional<std::string>(to_string(*record.outcome)) : std::nullopt;
  auto updated =
      database
          .prepare(
              "UPDATE invocations SET state = ?, attempts = ?, outcome = ?, message = ?, node = ?, "
              "finished = ?, timings = ?, output_size = ?, log_dropped = ?, lease = ?, output_data "
              "= ? "
              "WHERE id = ? AND state < 2")
          .bind(number(StoredState::done))
          .bind(std::int64_t{record.attempts})
          .bind_optional(outcome)
          .bind(record.message)
          .bind(record.node)
          .bind_optional(record.finished)
          .bind(pack_timings(record.timings))
          .bind(static_cast<std::int64_t>(record.output_size))
          .bind(static_cast<std::int64_t>(record.log_dropped))
          .bind(record.lease == LeaseId{} ? std::string() : to_string(record.lease))
          .bind(record.output_data)
          .bind(record.id)
          .run();
  if (!updated) return updated;
  if (database.changes() == 0)
    return fail(ErrorCode::conflict, "invocation " + record.id + " has an outcome already");
  return {};
}

Result<void> write_payload(Database& database, Spool& spool, const std::string& id,
                           PayloadKind kind, std::span<const std::byte> content) {
  if (content.empty()) return {};
  std::optional<std::string> spooled;
  if (content.size() > largest_inline_payload.value) {
    auto digest = spool.put(content);
    if (!digest) return fail(std::move(digest.error()));
    spooled = std::move(*digest);
  }
  Statement insert = database.prepare(
      "INSERT OR REPLACE INTO payloads (invocation, kind, content, spooled) VALUES (?,?,?,?)");
  insert.bind(id).bind(number(kind));
  if (spooled) {
    insert.bind_null();
  } else {
    insert.bind(content);
  }
  return insert.bind_optional(spooled).run();
}

Result<std::vector<std::byte>> read_payload(Database& database, const Spool& spool,
                                            const std::string& id, PayloadKind kind) {
  Statement select =
      database.prepare("SELECT content, spooled FROM payloads WHERE invocation = ? AND kind = ?");
  auto row = select.bind(id).bind(number(kind)).step();
  if (!row) return fail(std::move(row.error()));
  if (!*row) return std::vector<std::byte>{};
  if (select.is_null(1)) return select.blob(0);
  return spool.get(select.text(1), limits::input_size);
}

Result<std::optional<std::string>> drop_payload(Database& database, const std::string& id,
                                                PayloadKind kind) {
  std::optional<std::string> spooled;
  {
    Statement remove = database.prepare(
        "DELETE FROM payloads WHERE invocation = ? AND kind = ? RETURNING spooled");
    auto row = remove.bind(id).bind(number(kind)).step();
    if (!row) return fail(std::move(row.error()));
    if (*row && !remove.is_null(0)) spooled = remove.text(0);
  }
  if (!spooled) return spooled;
  auto used = is_payload_used(database, *spooled);
  if (!used) return fail(std::move(used.error()));
  return *used ? std::nullopt : spooled;
}

Result<bool> is_payload_used(Database& database, const std::string& digest) {
  return database.prepare("SELECT 1 FROM payloads WHERE spooled = ? LIMIT 1").bind(digest).step();
}

Result<std::vector<std::string>> finished_before(Database& database, UnixMillis before,
                                                 std::size_t limit) {
  std::vector<std::string> ids;
  Statement select = database.prepare(
      "SELECT id FROM invocations WHERE state = 2 AND finished < ? ORDER BY finished LIMIT ?");
  select.bind(before).bind(static_cast<std::int64_t>(limit));
  while (true) {
    auto row = select.step();
    if (!row) return fail(std::move(row.error()));
    if (!*row) return ids;
    ids.push_back(select.text(0));
  }
}

Result<void> drop_invocation(Database& database, const std::string& id) {
  return database.prepare("DELETE FROM invocations WHERE id = ?").bind(id).run();
}

}  // namespace orchid::gateway
