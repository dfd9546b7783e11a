#include "http/router.h"

#include <algorithm>
#include <optional>

namespace orchid::gateway {
namespace {

std::string_view take_segment(std::string_view& path) {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return segment;
}

std::optional<std::array<std::string_view, 2>> match(std::string_view pattern,
                                                     std::string_view path) {
  if (path.empty() || path.front() != '/' ||
      std::ranges::count(pattern, '/') != std::ranges::count(path, '/'))
    return std::nullopt;
  pattern.remove_prefix(1);
  path.remove_prefix(1);
  std::array<std::string_view, 2> parameters;
  std::size_t filled = 0;
  while (!pattern.empty()) {
    const std::string_view expected = take_segment(pattern);
    const std::string_view found = take_segment(path);
    if (expected == "{}") {
      if (found.empty()) return std::nullopt;
      parameters[filled++] = found;
    } else if (expected != found) {
      return std::nullopt;
    }
  }
  if (!path.empty()) return std::nullopt;
  return parameters;
}

void add_method(std::string& allow, Method method) {
  if (!allow.empty()) allow += ", ";
  allow += method == Method::get ? "GET, HEAD" : to_string(method);
}

}  // namespace

void Router::add(Method method, std::string pattern, RouteOptions options, Handler handler) {
  routes_.push_back({method, std::move(pattern), std::move(options), std::move(handler), nullptr});
}

void Router::add_websocket(std::string pattern, ConnectionHandler accept, Handler otherwise) {
  routes_.push_back({Method::get, std::move(pattern), {}, std::move(otherwise), std::move(accept)});
}

std::string Router::all_methods() const {
  std::string allow;
  for (const Method method :
       {Method::get, Method::put, Method::post, Method::patch, Method::delete_})
    if (std::ranges::find(routes_, method, &Route::method) != routes_.end())
      add_method(allow, method);
  return allow;
}

std::variant<RouteMatch, NoSuchPath, MethodNotAllowed> Router::find(Method method,
                                                                    std::string_view path) const {
  const Method wanted = method == Method::head ? Method::get : method;
  std::string allow;
  bool is_literal = false;  // the path stands for itself, and is no parameter of a later pattern
  for (const Route& route : routes_) {
    if (is_literal && route.pattern != path) continue;
    const auto parameters = match(route.pattern, path);
    if (!parameters) continue;
    is_literal = route.pattern == path;
    if (route.method == wanted) return RouteMatch{&route, *parameters};
    add_method(allow, route.method);
  }
  if (allow.empty()) return NoSuchPath{};
  return MethodNotAllowed{std::move(allow)};
}

}  // namespace orchid::gateway
