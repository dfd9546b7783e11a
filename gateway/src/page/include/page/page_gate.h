// page/page_gate.h: what a browser's request must be like before it counts.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "http/cookie_judge.h"
#include "http/response.h"
#include "page/page_hosts.h"
#include "page/page_sessions.h"

namespace orchid::gateway {

/// Any thread; what it borrows outlives it.
class PageGate {
 public:
  PageGate(const PageHosts& hosts, PageSessions& sessions) : hosts_(hosts), sessions_(sessions) {}

  /// Whether `request` may see a document of the page, which has nothing of anybody and may be led
  /// to by any link: by the name that its Host has. 421.
  [[nodiscard]] std::optional<Response> refuse_name(const Request& request) const;
  /// Whether it may see anything else: also by whose page has made it. 421 or 403.
  [[nodiscard]] std::optional<Response> refuse(const Request& request) const;

  /// Who the request's cookie says that it is; see http/cookie_judge.h.
  [[nodiscard]] std::optional<std::expected<PeerIdentity, Response>> judge(
      const Request& request) const;

  /// The session's secret in the request's cookie; empty: it has none.
  [[nodiscard]] static std::string_view secret_of(const Request& request);
  /// The field of an answer that makes a browser keep `secret`, or forget it.
  [[nodiscard]] std::string cookie(const Request& request, std::string_view secret) const;
  [[nodiscard]] static std::string no_cookie(const Request& request);

 private:
  const PageHosts& hosts_;
  PageSessions& sessions_;
};

}  // namespace orchid::gateway
