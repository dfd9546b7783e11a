// http/router.h: which handler a method and a path belong to.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "http/reply.h"
#include "http/request.h"

namespace orchid::gateway {

using Handler = std::function<void(Request& request, const Reply& reply)>;
/// Takes a connection that leaves HTTP with this request: nobody reads or writes it any more.
using ConnectionHandler = std::function<void(UniqueFd socket, const Request& request)>;

struct RouteOptions {
  bool is_public = false;      // no authentication
  bool is_invocation = false;  // its answers name an outcome
  ByteCount body{0};           // the largest
  bool streams = false;  // its handler takes or refuses a body of any stated length (http/reply.h)
  std::vector<std::string> query{};  // the names of the parameters that it takes
};

struct Route {
  Method method;
  std::string pattern;
  RouteOptions options;
  Handler handler;
  /// With `Upgrade: websocket`, instead of the handler; empty: such a field is nothing special.
  ConnectionHandler websocket;
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
  /// route answers HEAD too. A path that is a pattern itself is nothing to those added after it.
  void add(Method method, std::string pattern, RouteOptions options, Handler handler);
  /// A GET route without a body, whose connections become WebSockets. `otherwise` answers requests
  /// that do not ask for that.
  void add_websocket(std::string pattern, ConnectionHandler accept, Handler otherwise);
  [[nodiscard]] std::variant<RouteMatch, NoSuchPath, MethodNotAllowed> find(
      Method method, std::string_view path) const;
  /// Of all routes together, as `MethodNotAllowed` has them.
  [[nodiscard]] std::string all_methods() const;

 private:
  std::vector<Route> routes_;
};

}  // namespace orchid::gateway
