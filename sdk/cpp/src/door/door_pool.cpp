#include "door/door_pool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "http/problem.h"
#include "orchid/error.h"

namespace orchid::sdk {
namespace {

constexpr std::size_t most_openings = 4;  // at a time: a door lets in only so many at once
constexpr int most_new_connections = 2;   // for one request

std::string head_of(const HttpRequest& request, const Endpoint& endpoint) {
  std::string head = request.method + " " + request.target + " HTTP/1.1\r\nHost: orchid\r\n";
  const auto add = [&head](const std::string& line) {
    if (line.find_first_of("\r\n") != std::string::npos)
      throw Error({.kind = ErrorKind::bad_request,
                   .message = "a header value contains a line break",
                   .hint = "look at the token, the keys and the ids that you pass"});
    head.append(line).append("\r\n");
  };
  if (!endpoint.token.empty()) add("Authorization: Bearer " + endpoint.token);
  for (const std::string& line : request.headers) add(line);
  if (request.method == "POST" || request.method == "PUT" || request.method == "PATCH" ||
      !request.body.empty())
    add("Content-Length: " + std::to_string(request.body.size()));
  return head + "\r\n";
}

bool may_be_done_twice(const HttpRequest& request) {
  return request.method == "GET" ||
         std::ranges::any_of(request.headers, [](const std::string& line) {
           return line.starts_with("Idempotency-Key:");
         });
}

[[noreturn]] void throw_lost(const Endpoint& endpoint, const DoorConnection::Ended& ended) {
  const std::string done = ended.maybe_done ? "; the gateway may have done what was asked"
                                            : "; the gateway has not seen the request";
  throw Error({.kind = ErrorKind::unreachable,
               .message = std::string(ended.why) + " (" + endpoint.base_url + ")" + done,
               .hint = ended.maybe_done ? "check whether it has happened before you send it again"
                                        : "send it again",
               .retryable = !ended.maybe_done});
}

/// The door is there, and the gateway is not: the same as an address that nobody answers at.
void throw_if_gateway_is_gone(const HttpResponse& response) {
  if (response.status != 502 || response.header("orchid-door").empty()) return;
  Error::Details details = error_from_response(response).details();
  details.kind = ErrorKind::unreachable;
  details.http_status = 0;
  throw Error(std::move(details));
}

}  // namespace

DoorPool::Place::Place(DoorPool& pool, Deadline deadline) : pool_(pool) {
  std::unique_lock lock(pool.mutex_);
  const bool free =
      pool.changed_.wait_until(lock, deadline, [&] { return pool.in_use_ < most_connections; });
  if (!free)
    throw Error({.kind = ErrorKind::timed_out,
                 .message = "all " + std::to_string(most_connections) +
                            " connections of this client to the door were busy",
                 .hint = "use a lease for many calls at a time",
                 .retryable = true});
  ++pool.in_use_;
  if (pool.idle_.empty()) return;
  connection = std::move(pool.idle_.back());
  pool.idle_.pop_back();
}

DoorPool::Place::~Place() {
  {
    const std::lock_guard lock(pool_.mutex_);
    --pool_.in_use_;
    if (connection != nullptr && pool_.idle_.size() < most_idle)
      pool_.idle_.push_back(std::move(connection));
  }
  pool_.changed_.notify_all();
}

std::unique_ptr<DoorConnection> DoorPool::open(Deadline deadline) {
  const Deadline by =
      std::min(deadline, std::chrono::steady_clock::now() + endpoint_.connect_timeout);
  {
    std::unique_lock lock(mutex_);
    // Who waits longer than that comes in anyway, and is told by the door what is wrong.
    changed_.wait_until(lock, by, [this] { return opening_ < most_openings; });
    ++opening_;
  }
  const auto done = [this](void*) {
    {
      const std::lock_guard lock(mutex_);
      --opening_;
    }
    changed_.notify_all();
  };
  const std::unique_ptr<DoorPool, decltype(done)> opening(this, done);
  return DoorConnection::open(endpoint_, by);
}

void DoorPool::forget_idle() {
  std::vector<std::unique_ptr<DoorConnection>> ended;  // closed without the lock
  const std::lock_guard lock(mutex_);
  ended.swap(idle_);
}

HttpResponse DoorPool::perform(const HttpRequest& request) {
  if (request.read_stream || request.take_stream)
    throw Error({.kind = ErrorKind::unsupported,
                 .message = "data objects are not carried by an orchid-door",
                 .hint = "reach the gateway over HTTP: set ORCHID_GATEWAY to its address"});
  const std::string head = head_of(request, endpoint_);
  const Deadline deadline = std::chrono::steady_clock::now() + request.timeout;
  const auto began = std::chrono::steady_clock::now();
  Place place(*this, deadline);
  for (int opened = 0;;) {
    std::unique_ptr<DoorConnection> connection = std::move(place.connection);
    if (connection == nullptr) {
      connection = open(deadline);
      ++opened;
    }
    const auto connected = std::chrono::steady_clock::now();
    auto outcome = connection->perform(head, request.body, deadline);
    if (auto* response = std::get_if<HttpResponse>(&outcome)) {
      place.connection = std::move(connection);
      response->times.connect = connected - began;
      throw_if_gateway_is_gone(*response);
      return std::move(*response);
    }
    const auto& ended = std::get<DoorConnection::Ended>(outcome);
    if ((ended.maybe_done && !may_be_done_twice(request)) || opened >= most_new_connections)
      throw_lost(endpoint_, ended);
    forget_idle();  // one kept connection has ended: so have the others, probably
  }
}

}  // namespace orchid::sdk
