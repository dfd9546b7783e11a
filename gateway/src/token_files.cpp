#include "token_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
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

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

}  // namespace

Result<void> ensure_tokens(Store& store, const Config& config, const Tenant& owner,
                           std::vector<TokenRecord>& tokens) {
  const std::filesystem::path own = config.state / "token";
  if (tokens.empty() || !is_there(own))
    if (auto made = make(store, {own, owner, "owner"}, tokens); !made) return made;
  if (config.token_users.empty()) return {};
  const std::filesystem::path folder = config.state / "tokens";
  if (auto made = make_private_directory(folder); !made) return made;
  for (const std::string& name : config.token_users) {
    auto tenant = find_user(name);
    if (!tenant) return fail(std::move(tenant.error()).while_doing("token_users"));
    const std::filesystem::path file = folder / std::to_string(tenant->uid);
    const bool known = std::ranges::any_of(tokens, [&](const TokenRecord& record) {
      return record.tenant.uid == tenant->uid && record.label == of_tenant;
    });
    if (known && is_there(file)) continue;
    if (auto made = make(store, {file, *tenant, of_tenant}, tokens); !made) return made;
  }
  return {};
}

}  // namespace orchid::gateway
