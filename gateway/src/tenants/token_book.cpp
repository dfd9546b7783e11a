#include "tenants/token_book.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "foundation/files.h"
#include "foundation/random.h"

namespace orchid::gateway {
namespace {

constexpr std::string_view scheme = "bearer";

/// The token behind "Bearer ", whose case does not matter; empty when the header is of another
/// scheme.
std::string_view bearer_token(std::string_view header) {
  if (header.size() <= scheme.size() || header[scheme.size()] != ' ') return {};
  const bool matches =
      std::ranges::equal(scheme, header.substr(0, scheme.size()), {}, {},
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (!matches) return {};
  header.remove_prefix(scheme.size());
  while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
  while (!header.empty() && header.back() == ' ') header.remove_suffix(1);
  return header;
}

}  // namespace

std::string make_token() { return "orc_" + random_hex(32); }

std::string hash_token(std::string_view token) {
  std::array<std::byte, 32> hash{};
  EVP_Digest(token.data(), token.size(), reinterpret_cast<unsigned char*>(hash.data()), nullptr,
             EVP_sha256(), nullptr);
  return to_hex(hash);
}

std::string hash_bearer_token(std::string_view authorization) {
  const std::string_view token = bearer_token(authorization);
  return token.empty() ? "" : hash_token(token);
}

TokenBook::TokenBook(Tenant owner, std::vector<TokenRecord> tokens, SocketUsers socket_users)
    : owner_(std::move(owner)), socket_users_(socket_users), tokens_(std::move(tokens)) {}

const TokenRecord* TokenBook::find(std::string_view hash) const {
  const TokenRecord* found = nullptr;
  // All are compared, so that the time says nothing about which one is near.
  for (const TokenRecord& record : tokens_)
    if (equal_in_constant_time(record.hash, hash)) found = &record;
  return found;
}

const Tenant* TokenBook::tenant_of(std::string_view hash) const {
  const TokenRecord* record = find(hash);
  return record == nullptr ? nullptr : &record->tenant;
}

bool TokenBook::is_tenant(uid_t uid) const {
  const auto is_his = [&](const TokenRecord& record) { return record.tenant.uid == uid; };
  return uid == owner_.uid || socket_users_ == SocketUsers::everybody ||
         std::ranges::any_of(tokens_, is_his);
}

Result<PeerIdentity> TokenBook::authenticate(const Credentials& credentials) const {
  if (!credentials.authorization.empty()) {
    const std::string_view token = bearer_token(credentials.authorization);
    if (token.empty())
      return fail(
          ErrorCode::unauthenticated,
          "the Authorization header is not 'Bearer TOKEN'; the token is in the file 'token' of the "
          "gateway's state directory");
    const TokenRecord* record = find(hash_token(token));
    if (record == nullptr)
      return fail(ErrorCode::unauthenticated,
                  "this gateway does not know the token; the one it made is in the file 'token' of "
                  "its state "
                  "directory ('orchid token' prints it)");
    return PeerIdentity{record->tenant, credentials.peer_uid};
  }
  if (!credentials.peer_uid)
    return fail(
        ErrorCode::unauthenticated,
        "no token: send 'Authorization: Bearer TOKEN' with the token from the file 'token' of the "
        "gateway's state directory ('orchid token' prints it)");
  const uid_t uid = *credentials.peer_uid;
  if (uid == owner_.uid || uid == 0) return PeerIdentity{owner_, uid};
  if (socket_users_ == SocketUsers::owner)
    return fail(ErrorCode::denied, "this gateway serves " + owner_.name + ", and you are " +
                                       user_name(uid) + ": ask its owner for a token");
  return PeerIdentity{{uid, known_user_name(uid)}, uid};
}

}  // namespace orchid::gateway
