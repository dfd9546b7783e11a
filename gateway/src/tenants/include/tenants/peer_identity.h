// tenants/peer_identity.h: who is at the other end of an authenticated connection.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "foundation/result.h"

namespace orchid::gateway {

/// Whose functions and invocations a request sees. A value.
struct Tenant {
  uid_t uid = 0;
  std::string name;
  friend bool operator==(const Tenant&, const Tenant&) = default;
};

/// A value; made by authentication only.
struct PeerIdentity {
  Tenant tenant;
  /// The uid that the kernel named, on a Unix socket; nothing over TCP, where a token said who it
  /// is.
  std::optional<uid_t> peer_uid;
};

/// "uid 1000" when the host's user database does not know it.
[[nodiscard]] std::string user_name(uid_t uid);
/// The same, remembered by the thread: to find a name may take a while.
[[nodiscard]] const std::string& known_user_name(uid_t uid);
/// Of a name, or of a number that need not have one. Errors: `not_found`.
[[nodiscard]] Result<Tenant> find_user(const std::string& name);

}  // namespace orchid::gateway
