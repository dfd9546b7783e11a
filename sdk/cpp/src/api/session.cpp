#include "api/session.h"

#include "door/door_pool.h"
#include "http/connection_pool.h"
#include "http/problem.h"

namespace orchid::sdk {

namespace {

std::unique_ptr<HttpExchange> way_to(Endpoint endpoint) {
  if (!endpoint.door.empty()) return std::make_unique<DoorPool>(std::move(endpoint));
  return std::make_unique<ConnectionPool>(std::move(endpoint));
}

}  // namespace

Session::Session(Endpoint endpoint) : exchange_(way_to(std::move(endpoint))) {}

HttpResponse Session::request(const HttpRequest& request) {
  HttpResponse response = exchange_->perform(request);
  if (response.status >= 400) throw error_from_response(response);
  return response;
}

HttpResponse Session::get(std::string target, std::chrono::milliseconds timeout) {
  return request({.target = std::move(target), .timeout = timeout});
}

}  // namespace orchid::sdk
