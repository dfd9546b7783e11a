// store/function_rows.h: functions and their versions in the database.
#pragma once
#include <vector>

#include "database/database.h"
#include "store/records.h"

namespace orchid::gateway {

/// Enters a version as its function's newest; one that was there already becomes the newest again.
[[nodiscard]] Result<void> write_version(Database& database, const VersionRecord& version);
/// How many calls of it may run at once; 0: no limit.
[[nodiscard]] Result<void> write_options(Database& database, uid_t tenant,
                                         const std::string& function, const StoredOptions& options);
/// Marks all versions as deleted; they stay for the calls that still need them. Errors:
/// `not_found`.
[[nodiscard]] Result<void> mark_function_deleted(Database& database, uid_t tenant,
                                                 const std::string& function, UnixMillis at);
/// Marks one version as deleted; nothing happens when it is not there.
[[nodiscard]] Result<void> mark_version_deleted(Database& database, uid_t tenant,
                                                const std::string& function,
                                                const std::string& digest, UnixMillis at);
/// Oldest first, without modules: those in use, and deleted ones that an unfinished invocation
/// needs.
[[nodiscard]] Result<std::vector<VersionRecord>> read_versions(Database& database);
/// Forgets the versions that were deleted before that time and that no unfinished invocation needs;
/// returns their digests.
[[nodiscard]] Result<std::vector<std::string>> drop_deleted_versions(Database& database,
                                                                     UnixMillis before);
/// Whether a version has this digest; its module is then in the spool.
[[nodiscard]] Result<bool> is_module_used(Database& database, const std::string& digest);

}  // namespace orchid::gateway
