#include "token_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "foundation/clock.h"
#include "foundation/files.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

constexpr std::string_view of_tenant = "tenant";

UnixMillis now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             SystemClock().wall_now().time_since_epoch())
      .count();
}

struct TokenFile {
  std::filesystem::path path;
  Tenant tenant;
  std::string_view label;
};

Result<void> make(Store& store, const TokenFile& file, std::vector<TokenRecord>& tokens) {
  const std::string token = make_token();
  TokenRecord record{
      .hash = hash_token(token), .tenant = file.tenant, .label = std::string(file.label)};
  if (auto written = write_file_atomically(file.path, as_bytes(token + "\n"), 0600); !written)
    return written;
  if (auto added = store.add_token(record, now()); !added) return added;
  tokens.push_back(std::move(record));
  log::info("event=token_made tenant={} file={}", file.tenant.name, file.path.string());
  return {};
}

/// The file goes first: a token that is still in the store is withdrawn at the next start.
Result<void> withdraw(Store& store, const std::filesystem::path& file, const TokenRecord& token) {
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error)
    return fail(ErrorCode::system, "cannot remove " + file.string() + ": " + error.message());
  if (auto withdrawn = store.withdraw_token(token, now()); !withdrawn) return withdrawn;
  log::info("event=token_withdrawn tenant={} file={}", token.tenant.name, file.string());
  return {};
}

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

Result<std::vector<Tenant>> find_users(const std::vector<std::string>& names) {
  std::vector<Tenant> users;
  for (const std::string& name : names) {
    auto user = find_user(name);
    if (!user) return fail(std::move(user.error()));
    users.push_back(std::move(*user));
  }
  return users;
}

/// Whom the configuration no longer names has no right any more.
Result<void> withdraw_others(Store& store, const std::filesystem::path& folder,
                             const std::vector<Tenant>& tenants, std::vector<TokenRecord>& tokens) {
  const auto is_anothers = [&](const TokenRecord& record) {
    return record.label == of_tenant &&
           std::ranges::find(tenants, record.tenant.uid, &Tenant::uid) == tenants.end();
  };
  for (const TokenRecord& record : tokens | std::views::filter(is_anothers))
    if (auto done = withdraw(store, folder / std::to_string(record.tenant.uid), record); !done)
      return done;
  std::erase_if(tokens, is_anothers);
  return {};
}

}  // namespace

Result<void> ensure_tokens(Store& store, const Config& config, const Tenant& owner,
                           std::vector<TokenRecord>& tokens) {
  const std::filesystem::path own = config.state / "token";
  if (tokens.empty() || !is_there(own))
    if (auto made = make(store, {own, owner, "owner"}, tokens); !made) return made;
  auto tenants = find_users(config.token_users);
  if (!tenants) return fail(std::move(tenants.error()).while_doing("token_users"));
  const std::filesystem::path folder = config.state / "tokens";
  if (auto withdrawn = withdraw_others(store, folder, *tenants, tokens); !withdrawn)
    return withdrawn;
  if (tenants->empty()) return {};
  if (auto made = make_private_directory(folder); !made) return made;
  for (const Tenant& tenant : *tenants) {
    const std::filesystem::path file = folder / std::to_string(tenant.uid);
    const bool known = std::ranges::any_of(tokens, [&](const TokenRecord& record) {
      return record.tenant.uid == tenant.uid && record.label == of_tenant;
    });
    if (known && is_there(file)) continue;
    if (auto made = make(store, {file, tenant, of_tenant}, tokens); !made) return made;
  }
  return {};
}

}  // namespace orchid::gateway
