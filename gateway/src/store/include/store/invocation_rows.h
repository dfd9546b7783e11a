// store/invocation_rows.h: invocations and their payloads in the database.
#pragma once
#include <optional>
#include <vector>

#include "database/database.h"
#include "store/records.h"
#include "store/spool.h"

namespace orchid::gateway {

/// Errors: `conflict` when the id exists.
[[nodiscard]] Result<void> insert_invocation(Database& database, const InvocationRecord& record);
[[nodiscard]] Result<std::optional<InvocationRecord>> find_by_key(Database& database, uid_t tenant,
                                                                  const std::string& key);
[[nodiscard]] Result<std::optional<InvocationRecord>> find_invocation(Database& database,
                                                                      uid_t tenant,
                                                                      const std::string& id);
/// Newest first.
[[nodiscard]] Result<std::vector<InvocationRecord>> list_invocations(
    Database& database, const InvocationFilter& filter);
/// Oldest first.
[[nodiscard]] Result<std::vector<InvocationRecord>> unfinished_invocations(Database& database);
[[nodiscard]] Result<void> mark_unfinished(Database& database, const std::string& id,
                                           StoredState state, unsigned attempts);
/// Ends an invocation that has no outcome yet. Errors: `conflict` when it has one: it stays as it
/// was.
[[nodiscard]] Result<void> mark_finished(Database& database, const InvocationRecord& record);

/// Small content goes into the row, large content into the spool.
[[nodiscard]] Result<void> write_payload(Database& database, Spool& spool, const std::string& id,
                                         PayloadKind kind, std::span<const std::byte> content);
/// Empty when there is none.
[[nodiscard]] Result<std::vector<std::byte>> read_payload(Database& database, const Spool& spool,
                                                          const std::string& id, PayloadKind kind);
/// Removes one; returns the digest of a spool file that nobody names any more.
[[nodiscard]] Result<std::optional<std::string>> drop_payload(Database& database,
                                                              const std::string& id,
                                                              PayloadKind kind);
[[nodiscard]] Result<bool> is_payload_used(Database& database, const std::string& digest);
/// Ids of at most `limit` invocations that ended before `before`.
[[nodiscard]] Result<std::vector<std::string>> finished_before(Database& database,
                                                               UnixMillis before,
                                                               std::size_t limit);
[[nodiscard]] Result<void> drop_invocation(Database& database, const std::string& id);

}  // namespace orchid::gateway
