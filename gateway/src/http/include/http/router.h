// http/router.h: which handler a method and a path belong to.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/units.h"
#include "http/reply.h"
#include "http/request.h"

namespace orchid::gateway {

using Handler = std::function<void(Request& request, const Reply& reply)>;

struct RouteOptions {
  bool is_public = false;         // no authentication
  bool is_invocation = false;     // its answers name an outcome
  bool takes_connection = false;  // the connection leaves HTTP; no handler
  ByteCount body{0};              // the largest
};

struct Route {
  Method method;
  std::string pattern;
  RouteOptions options;
  Handler handler;
};

struct NoSuchPath {};
struct MethodNotAllowed {
  std::string allow;  // "GET, HEAD, PUT"
};
struct RouteMatch {
  const Route* route;
  std::array<std::string_view, 2> parameters;
};

/// Filled before its HTTP thread runs, constant afterwards.
class Router {
 public:
  /// `pattern`: segments, of which at most two are "{}": any text without '/', not empty. A GET
  /// route answers HEAD too.
  void add(Method method, std::string pattern, RouteOptions options, Handler handler);
  [[nodiscard]] std::variant<RouteMatch, NoSuchPath, MethodNotAllowed> find(
      Method method, std::string_view path) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace orchid::gateway
