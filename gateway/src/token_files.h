// token_files.h: the tokens that a gateway makes by itself, in files of its state directory.
#pragma once
#include <vector>

#include "config/config.h"
#include "foundation/result.h"
#include "store/store.h"
#include "tenants/token_book.h"

namespace orchid::gateway {

/// The owner's, in `token`, and one in `tokens/UID` for each other user that the configuration
/// names: at the first start, or when the file is gone. Those of users whom it no longer names are
/// withdrawn. `tokens`, all that the store has, follows. Before the store is started. Errors:
/// `not_found`: no such user; those of the store and of files.
[[nodiscard]] Result<void> ensure_tokens(Store& store, const Config& config, const Tenant& owner,
                                         std::vector<TokenRecord>& tokens);

}  // namespace orchid::gateway
