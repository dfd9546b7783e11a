#include "page/page_gate.h"

#include <chrono>
#include <utility>

#include "http/problem.h"
#include "http/request_options.h"

namespace orchid::gateway {
namespace {

constexpr unsigned misdirected = 421;

/// A browser gives its cookies to all ports of a name: gateways behind two tunnels on localhost
/// must not take each other's.
std::string cookie_name(const Request& request) {
  return "orchid_page_" + std::string(port_of(request.header(Header::host)));
}

std::string set_cookie(const Request& request, std::string_view secret,
                       std::chrono::seconds max_age) {
  std::string value =
      cookie_name(request) + "=" + std::string(secret) +
      "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(max_age.count());
  // Somebody who speaks TLS stands before the gateway.
  if (request.header(Header::origin).starts_with("https://")) value += "; Secure";
  return value;
}

}  // namespace

std::optional<Response> PageGate::refuse_name(const Request& request) const {
  auto known = hosts_.check(request.header(Header::host));
  if (known) return std::nullopt;
  Problem problem = problem_of(known.error());
  problem.status = misdirected;
  return to_response(problem);
}

std::optional<Response> PageGate::refuse(const Request& request) const {
  if (auto refused = refuse_name(request)) return refused;
  if (auto own = check_origin(request); !own) return to_response(problem_of(own.error()));
  return std::nullopt;
}

std::optional<std::expected<PeerIdentity, Response>> PageGate::judge(const Request& request) const {
  const std::string_view secret = secret_of(request);
  if (secret.empty()) return std::nullopt;
  if (auto refused = refuse(request)) return std::unexpected(std::move(*refused));
  auto session = sessions_.find(secret);
  if (!session) return std::unexpected(to_response(problem_of(session.error())));
  return PeerIdentity{std::move(session->tenant), std::nullopt};
}

std::string_view PageGate::secret_of(const Request& request) {
  std::string_view cookies = request.header(Header::cookie);
  if (cookies.empty()) return {};
  const std::string name = cookie_name(request);
  while (!cookies.empty()) {
    const std::string_view one = take_item(cookies, ';');
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
  }
  return {};
}

std::string PageGate::cookie(const Request& request, std::string_view secret) const {
  return set_cookie(
      request, secret,
      std::chrono::duration_cast<std::chrono::seconds>(sessions_.options().session_time));
}

std::string PageGate::no_cookie(const Request& request) {
  return set_cookie(request, "", std::chrono::seconds(0));
}

}  // namespace orchid::gateway
