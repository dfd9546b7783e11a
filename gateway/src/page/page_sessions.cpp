#include "page/page_sessions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/json_document.h"
#include "foundation/random.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

constexpr std::size_t secret_bytes = 32;

std::int64_t unix_millis(system_clock::time_point time) {
  return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

PageSessions::PageSessions(const TokenBook& tokens, const Clock& clock, Options options, Save save)
    : tokens_(tokens), clock_(clock), options_(options), save_(std::move(save)) {}

std::optional<Tenant> PageSessions::tenant_of(const Lender& lender) const {
  if (!lender.token_hash.empty()) {
    const Tenant* tenant = tokens_.tenant_of(lender.token_hash);
    return tenant == nullptr ? std::nullopt : std::optional(*tenant);
  }
  auto identity = tokens_.authenticate({.authorization = {}, .peer_uid = lender.peer_uid});
  return identity ? std::optional(std::move(identity->tenant)) : std::nullopt;
}

Result<void> PageSessions::restore(std::string_view text) {
  const JsonDocument document(text);
  const std::scoped_lock lock(mutex_);
  Grants restored;
  for (const JsonObject& one : document.root().objects("sessions")) {
    const JsonObject any = one.optional();
    Lender lender{.token_hash = any.text("token"), .peer_uid = std::nullopt};
    if (lender.token_hash.empty()) lender.peer_uid = one.number<uid_t>("uid");
    const system_clock::time_point ends{milliseconds(one.number<std::int64_t>("ends"))};
    auto tenant = tenant_of(lender);
    if (tenant && ends > clock_.wall_now())
      restored.emplace(one.text("secret"), Grant{std::move(*tenant), std::move(lender), ends});
  }
  auto read = document.finish(std::move(restored));
  if (!read) return fail(std::move(read.error()));
  sessions_ = std::move(*read);
  return {};
}

/// What is over goes first, then the tenant's oldest.
std::string PageSessions::add(Grants& grants, std::size_t most, Grant grant) const {
  const auto now = clock_.wall_now();
  std::erase_if(grants, [&](const auto& one) { return one.second.ends <= now; });
  const auto is_the_tenants = [&](const auto& one) {
    return one.second.tenant.uid == grant.tenant.uid;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(grants, is_the_tenants)) >= most) {
    auto oldest = grants.end();
    for (auto one = grants.begin(); one != grants.end(); ++one)
      if (is_the_tenants(*one) &&
          (oldest == grants.end() || one->second.ends < oldest->second.ends))
        oldest = one;
    if (oldest != grants.end()) grants.erase(oldest);
  }
  std::string secret = random_hex(secret_bytes);
  grants.emplace(hash_token(secret), std::move(grant));
  return secret;
}

Result<std::string> PageSessions::make_link(const Credentials& credentials) {
  auto identity = tokens_.authenticate(credentials);
  if (!identity) return fail(std::move(identity.error()));
  Lender lender{.token_hash = hash_bearer_token(credentials.authorization),
                .peer_uid = std::nullopt};
  if (lender.token_hash.empty()) lender.peer_uid = credentials.peer_uid;
  const std::scoped_lock lock(mutex_);
  return add(
      links_, options_.links_per_tenant,
      {std::move(identity->tenant), std::move(lender), clock_.wall_now() + options_.link_time});
}

/// Under the lock.
std::string PageSessions::open(Tenant tenant, Lender lender) {
  std::string secret =
      add(sessions_, options_.sessions_per_tenant,
          {std::move(tenant), std::move(lender), clock_.wall_now() + options_.session_time});
  save_all();
  return secret;
}

Result<std::string> PageSessions::open_by_link(std::string_view secret) {
  const std::scoped_lock lock(mutex_);
  auto link = links_.extract(hash_token(secret));
  if (link.empty() || link.mapped().ends <= clock_.wall_now())
    return fail(ErrorCode::unauthenticated,
                "this link is over: it works once, and for a minute; 'orchid dashboard' prints "
                "another one");
  return open(std::move(link.mapped().tenant), std::move(link.mapped().lender));
}

Result<std::string> PageSessions::open_by_token(std::string_view token) {
  Lender lender{.token_hash = hash_token(token), .peer_uid = std::nullopt};
  auto tenant = tenant_of(lender);
  if (!tenant)
    return fail(ErrorCode::unauthenticated,
                "this gateway does not know the token ('orchid token' prints yours)");
  const std::scoped_lock lock(mutex_);
  return open(std::move(*tenant), std::move(lender));
}

Result<PageSessions::Found> PageSessions::find(std::string_view secret) const {
  const std::string hash = hash_token(secret);
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(hash);
  const auto now = clock_.wall_now();
  if (found == sessions_.end() || found->second.ends <= now)
    return fail(ErrorCode::unauthenticated, "your session at the page is over: log in again");
  return Found{found->second.tenant,
               std::chrono::duration_cast<milliseconds>(found->second.ends - now)};
}

void PageSessions::close(std::string_view secret) {
  const std::string hash = hash_token(secret);
  const std::scoped_lock lock(mutex_);
  if (sessions_.erase(hash) > 0) save_all();
}

/// Under the lock, so that a later state is saved later.
void PageSessions::save_all() const {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [hash, grant] : sessions_) {
    nlohmann::json one{{"secret", hash}, {"ends", unix_millis(grant.ends)}};
    if (!grant.lender.token_hash.empty()) one["token"] = grant.lender.token_hash;
    if (grant.lender.peer_uid) one["uid"] = *grant.lender.peer_uid;
    list.push_back(std::move(one));
  }
  save_(nlohmann::json{{"sessions", std::move(list)}}.dump() + "\n");
}

}  // namespace orchid::gateway
