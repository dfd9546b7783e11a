// tenants/token_book.h: who a request comes from: a bearer token, or what the kernel says about a
// Unix socket's peer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "tenants/peer_identity.h"

namespace orchid::gateway {

/// Tokens are stored as their SHA-256 only: who reads the state file cannot use them.
struct TokenRecord {
  std::string hash;  // 64 hexadecimal digits
  Tenant tenant;
  std::string label;
};

/// An unguessable token (256 bits), as users put it behind `Authorization: Bearer`.
[[nodiscard]] std::string make_token();
[[nodiscard]] std::string hash_token(std::string_view token);
/// The token of an Authorization header, hashed; empty: it has none.
[[nodiscard]] std::string hash_bearer_token(std::string_view authorization);

/// What a connection and a request say about who is there.
struct Credentials {
  std::string_view authorization;  // the header's value; empty: none
  std::optional<uid_t> peer_uid;   // of a Unix socket
};

/// Whom a Unix socket's peer without a token may be.
enum class SocketUsers : std::uint8_t { owner, everybody };

/// Immutable, so every thread may use it.
class TokenBook {
 public:
  /// `owner` is the user that runs the gateway: the tenant of Unix peers with the same uid, and of
  /// root. Others are tenants of their own, or nobody.
  TokenBook(Tenant owner, std::vector<TokenRecord> tokens,
            SocketUsers socket_users = SocketUsers::owner);
  /// A token, when one is given, decides alone. Errors: `unauthenticated` (none or a wrong one),
  /// `denied` (another user's socket peer).
  [[nodiscard]] Result<PeerIdentity> authenticate(const Credentials& credentials) const;
  /// Whose token has this hash; null: nobody's. Valid for as long as the book is there.
  [[nodiscard]] const Tenant* tenant_of(std::string_view hash) const;
  /// Whether this user can come at all, be it with a token or over the Unix socket.
  [[nodiscard]] bool is_tenant(uid_t uid) const;

 private:
  [[nodiscard]] const TokenRecord* find(std::string_view hash) const;

  Tenant owner_;
  SocketUsers socket_users_;
  std::vector<TokenRecord> tokens_;
};

}  // namespace orchid::gateway
