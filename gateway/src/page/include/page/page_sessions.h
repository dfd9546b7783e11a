// page/page_sessions.h: who has logged in at the page.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "tenants/token_book.h"

namespace orchid::gateway {

/// A session is a right that was lent: of a token, or of the user whom the kernel named on the Unix
/// socket. It ends with its time, with a logout, and with that token. Its secret is in a browser's
/// cookie; here is only the secret's hash, as with tokens. Sessions outlive a restart, links do
/// not. Any thread.
class PageSessions {
 public:
  struct Options {
    std::chrono::milliseconds session_time{12 * 3'600'000};
    std::chrono::milliseconds link_time{60'000};
    std::size_t sessions_per_tenant = 256;  // then the oldest ends
    std::size_t links_per_tenant = 64;      // likewise
  };
  /// Takes what `restore` is given after a restart. Any thread, one call at a time.
  using Save = std::function<void(std::string text)>;

  PageSessions(const TokenBook& tokens, const Clock& clock, Options options, Save save);
  PageSessions(const PageSessions&) = delete;
  PageSessions& operator=(const PageSessions&) = delete;

  /// Before others use it. Sessions that are over, or whose token is gone, are left out; a text
  /// that is not `save`'s has none. Errors: `bad_request`: it is not, and what is wrong in it.
  [[nodiscard]] Result<void> restore(std::string_view text);

  /// A secret that `open_by_link` takes once, within the link's time. Errors: those of
  /// TokenBook::authenticate.
  [[nodiscard]] Result<std::string> make_link(const Credentials& credentials);
  /// The session's secret. Errors: `unauthenticated`.
  [[nodiscard]] Result<std::string> open_by_link(std::string_view secret);
  [[nodiscard]] Result<std::string> open_by_token(std::string_view token);

  struct Found {
    Tenant tenant;
    std::chrono::milliseconds left;  // until it ends
  };
  /// Errors: `unauthenticated`.
  [[nodiscard]] Result<Found> find(std::string_view secret) const;
  void close(std::string_view secret);

  [[nodiscard]] const Options& options() const { return options_; }

 private:
  /// Of whose rights a session or a link is.
  struct Lender {
    std::string token_hash;         // empty: none, but
    std::optional<uid_t> peer_uid;  // this user of the Unix socket
  };
  struct Grant {
    Tenant tenant;
    Lender lender;
    std::chrono::system_clock::time_point ends;
  };
  using Grants = std::unordered_map<std::string, Grant>;  // by the secret's hash

  [[nodiscard]] std::optional<Tenant> tenant_of(const Lender& lender) const;
  [[nodiscard]] std::string open(Tenant tenant, Lender lender);
  [[nodiscard]] std::string add(Grants& grants, std::size_t most, Grant grant) const;
  void save_all() const;

  const TokenBook& tokens_;
  const Clock& clock_;
  Options options_;
  Save save_;
  mutable std::mutex mutex_;  // of both
  Grants sessions_;
  Grants links_;
};

}  // namespace orchid::gateway
