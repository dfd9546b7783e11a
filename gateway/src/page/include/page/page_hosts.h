// page/page_hosts.h: by which names a browser may reach the page, and whether a request comes from
// it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "http/request.h"

namespace orchid::gateway {

/// A site that gives its own name this machine's address can make a browser talk to us, as that
/// site (DNS rebinding). The name that the browser then sends is not one of these. Immutable.
class PageHosts {
 public:
  /// `more`: besides localhost, 127.0.0.1 and [::1].
  explicit PageHosts(std::vector<std::string> more);

  /// Of a `Host` field, with or without a port. Errors: `denied`: the name is none of these.
  [[nodiscard]] Result<void> check(std::string_view host) const;

 private:
  std::vector<std::string> names_;
};

/// Whether the request was not made by another site's page: if it changes something, it has an
/// Origin, and any Origin is the scheme, name and port that its Host says. Errors: `denied`.
[[nodiscard]] Result<void> check_origin(const Request& request);

/// The port of a `Host` field; empty: the scheme's own.
[[nodiscard]] std::string_view port_of(std::string_view host);

}  // namespace orchid::gateway
