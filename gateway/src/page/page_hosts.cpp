#include "page/page_hosts.h"

#include <algorithm>
#include <utility>

#include "http/request_options.h"

namespace orchid::gateway {
namespace {

/// Where the port begins: behind the last colon that is not within an IPv6 address.
std::size_t end_of_name(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) return host.size();
  return bracket != std::string_view::npos && colon < bracket ? host.size() : colon;
}

bool changes_something(Method method) { return method != Method::get && method != Method::head; }

std::string_view without_scheme(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  return {};
}

/// Browsers say of each request whether a page of ours made it; images and scripts of other ports'
/// pages come without an Origin.
Result<void> check_site(const Request& request) {
  const std::string_view site = request.header(Header::sec_fetch_site);
  if (site.empty() || site == "same-origin" || site == "none") return {};
  return fail(ErrorCode::denied,
              "this request was made by a page of another origin, and only the "
              "gateway's own page may make it");
}

}  // namespace

PageHosts::PageHosts(std::vector<std::string> more) : names_(std::move(more)) {
  for (const char* const loopback : {"localhost", "127.0.0.1", "[::1]"})
    names_.emplace_back(loopback);
}

Result<void> PageHosts::check(std::string_view host) const {
  const std::string_view name = host.substr(0, end_of_name(host));
  if (std::ranges::any_of(
          names_, [&](const std::string& known) { return equals_ignoring_case(known, name); }))
    return {};
  return fail(ErrorCode::denied,
              "this gateway's page is not called '" + std::string(name) +
                  "': use localhost, or start the gateway with --page-host and that name");
}

Result<void> check_origin(const Request& request) {
  const std::string_view origin = request.header(Header::origin);
  if (!request.headers.has(Header::origin)) {
    if (!changes_something(request.method)) return check_site(request);
    return fail(ErrorCode::denied,
                "a request that changes something and comes with a cookie needs an Origin field, "
                "as browsers send it; programs use a token");
  }
  const std::string_view from = without_scheme(origin);
  if (!from.empty() && equals_ignoring_case(from, request.header(Header::host))) return {};
  return fail(ErrorCode::denied, "this request was made by a page of '" + std::string(origin) +
                                     "', and only the gateway's own page may make it");
}

std::string_view port_of(std::string_view host) {
  const std::string_view behind = host.substr(end_of_name(host));
  return behind.empty() ? behind : behind.substr(1);
}

}  // namespace orchid::gateway
