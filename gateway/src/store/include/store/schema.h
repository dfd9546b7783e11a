// store/schema.h: the tables, and the version of their layout.
#pragma once
#include "database/database.h"

namespace orchid::gateway {

/// Sets the journal up and makes the tables of a new file. Errors: `bad_configuration` when a newer
/// gateway wrote the file.
[[nodiscard]] Result<void> prepare_schema(Database& database);

}  // namespace orchid::gateway
