// store/token_rows.h: tokens, counters and the audit trail in the database.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "store/records.h"

namespace orchid::gateway {

[[nodiscard]] Result<std::vector<TokenRecord>> read_tokens(Database& database);
[[nodiscard]] Result<void> insert_token(Database& database, const TokenRecord& token,
                                        UnixMillis created);
[[nodiscard]] Result<void> delete_token(Database& database, std::string_view hash);
/// Adds one to a counter that starts at 0, and returns the new value.
[[nodiscard]] Result<std::uint64_t> advance_counter(Database& database, std::string_view name);
/// 16 hexadecimal digits, made at random when they are first asked for, and kept.
[[nodiscard]] Result<std::string> read_identity(Database& database);
[[nodiscard]] Result<void> insert_audit(Database& database, const AuditRecord& record);

}  // namespace orchid::gateway
