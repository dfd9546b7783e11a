#include "door/door_connection.h"

#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "fabric/ucx_context.h"
#include "foundation/tcp.h"
#include "http/problem.h"
#include "orchid/error.h"
#include "protocol/door_messages.h"
#include "protocol/http_head.h"

namespace orchid::sdk {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Deadline = DoorConnection::Deadline;

constexpr std::chrono::microseconds spin{50};
constexpr int farewell_ms = 300;              // what a door says when it goes is there at once
constexpr std::size_t copied = 6 * 1024;      // smaller requests go through the lane in one piece
constexpr std::size_t kept_memory = 4 << 20;  // of a lane, between two exchanges

int milliseconds_to(Deadline deadline) {
  return static_cast<int>(std::clamp<std::int64_t>(
      std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count(), 0, 60'000));
}

[[noreturn]] void throw_unreachable(const Endpoint& endpoint, const std::string& why) {
  throw Error(
      {.kind = ErrorKind::unreachable,
       .message = "the door at " + endpoint.base_url + " cannot be reached (" + why + ")",
       .hint = "the gateway must run with --door-listen; 'orchid doctor' looks for the cause",
       .retryable = true});
}

[[noreturn]] void throw_late(const Endpoint& endpoint) {
  throw Error({.kind = ErrorKind::timed_out,
               .message = "the door at " + endpoint.base_url + " did not answer in time",
               .hint = "'orchid doctor' looks for the cause",
               .retryable = true});
}

/// Of what went wrong between us and the door, not between it and the gateway.
[[noreturn]] void throw_failure(const Endpoint& endpoint, const Failure& failure) {
  if (failure.code == ErrorCode::unreachable) throw_unreachable(endpoint, failure.message);
  if (failure.code == ErrorCode::timed_out) throw_late(endpoint);
  throw Error(
      {.kind = kind_of(failure.code),
       .message = "connecting through the door at " + endpoint.base_url + ": " + failure.message});
}

void read_all(int socket, std::span<std::byte> bytes, Deadline deadline, const Endpoint& endpoint) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      continue;
    }
    if (n == 0) throw_unreachable(endpoint, "it hung up");
    if (errno != EAGAIN && errno != EINTR) throw_unreachable(endpoint, std::strerror(errno));
    pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, milliseconds_to(deadline)) == 0 && steady_clock::now() >= deadline)
      throw_late(endpoint);
  }
}

void greet(int socket, const Endpoint& endpoint) {
  const DoorHello hello{.token_bytes = static_cast<std::uint16_t>(
                            std::min<std::size_t>(endpoint.token.size(), 0xffff))};
  std::string message(reinterpret_cast<const char*>(&hello), sizeof(hello));
  message += endpoint.token;
  if (::send(socket, message.data(), message.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(message.size()))
    throw_unreachable(endpoint, std::strerror(errno));
}

/// The door's answer to our hello. One that refuses is thrown as what it stands for over HTTP.
DoorWelcome read_welcome(int socket, const Endpoint& endpoint, Deadline deadline) {
  std::array<std::byte, sizeof(DoorWelcome)> bytes{};
  read_all(socket, bytes, deadline, endpoint);
  auto welcome = parse_door_welcome(bytes);
  if (!welcome) throw_failure(endpoint, welcome.error());
  if (welcome->status == 200) return *welcome;
  HttpResponse refused{.status = welcome->status};
  refused.body.resize(welcome->text_bytes);
  read_all(socket, refused.body, deadline, endpoint);
  throw error_from_response(refused);
}

/// The lane is at the address that the plain connection has reached.
std::string lane_address(int socket, std::uint16_t port) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  std::array<char, NI_MAXHOST> host{};
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), size, host.data(), host.size(),
                    nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  const std::string name = host.data();
  return (storage.ss_family == AF_INET6 ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

}  // namespace

std::unique_ptr<DoorConnection> DoorConnection::open(const Endpoint& endpoint, Deadline deadline) {
  auto connected = connect_tcp(endpoint.door, deadline, HostNames::looked_up);
  if (!connected) throw_unreachable(endpoint, connected.error().message);
  UniqueFd control = std::move(*connected);
  end_when_silent(control.get());
  greet(control.get(), endpoint);
  const DoorWelcome welcome = read_welcome(control.get(), endpoint, deadline);
  auto ucx = shared_ucx_context(transport::Fabric::tcp, local_host(control.get()));
  if (!ucx) throw_failure(endpoint, ucx.error());
  auto lane = transport::UcxLaneClient::connect(
      **ucx, {.address = lane_address(control.get(), welcome.port),
              .key = welcome.key,
              .deadline = deadline,
              .largest = {door_slab, door_slab}});
  if (!lane) throw_failure(endpoint, lane.error());
  return std::unique_ptr<DoorConnection>(new DoorConnection(std::move(control), std::move(*lane)));
}

bool DoorConnection::has_ended(int timeout_ms) const {
  pollfd entry{.fd = control_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

DoorConnection::Ended DoorConnection::end() {
  std::array<std::byte, sizeof(DoorFarewell)> bytes{};
  if (has_ended(farewell_ms) &&
      ::recv(control_.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) {
    const auto farewell = parse_door_farewell(bytes);
    if (farewell && farewell->taken < sent_) return {.why = "the door ended the connection"};
  }
  return {.maybe_done = true, .why = "the connection to the door was lost"};
}

/// False: the connection has ended.
bool DoorConnection::send(std::string_view head, std::span<const std::byte> body) {
  const std::size_t size = head.size() + body.size();
  if (size <= copied) {
    std::array<std::byte, copied> whole;
    std::memcpy(whole.data(), head.data(), head.size());
    if (!body.empty()) std::memcpy(whole.data() + head.size(), body.data(), body.size());
    return lane_.send({.input = std::span(whole).first(size)}).has_value();
  }
  auto room = lane_.allocate(size);
  if (!room && room.error().code == ErrorCode::too_large)
    throw Error({.kind = ErrorKind::too_large,
                 .message = "a request of " + to_string(ByteCount{size}) +
                            " does not go through the door: the limit is " + to_string(door_slab),
                 .http_status = 413});
  if (!room) return false;
  std::memcpy(room->data(), head.data(), head.size());
  if (!body.empty()) std::memcpy(room->data() + head.size(), body.data(), body.size());
  largest_ = size;
  return lane_.send({.input = *room}).has_value();
}

HttpResponse DoorConnection::take(const transport::LaneResponse& response) {
  const std::string_view text(reinterpret_cast<const char*>(response.payload.data()),
                              response.payload.size());
  const auto head = parse_http_head(text);
  const auto status = head && *head ? http_status_of(**head) : Result<int>(0);
  if (!status || *status == 0)
    throw Error({.kind = ErrorKind::internal, .message = "the door's answer is not HTTP/1.1"});
  HttpResponse answer{.status = *status};
  for (const auto& [name, value] : (*head)->fields) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers.emplace_back(std::move(lower), value);
  }
  const auto body = response.payload.subspan((*head)->size);
  answer.body.assign(body.begin(), body.end());
  largest_ = std::max(largest_, response.payload.size());
  lane_.release(response);
  if (largest_ > kept_memory) lane_.trim();
  return answer;
}

/// False: the door has gone, or time is over.
bool DoorConnection::sleep(Deadline deadline) {
  std::array<pollfd, 2> entries{{{.fd = lane_.wake_descriptor(), .events = POLLIN, .revents = 0},
                                 {.fd = control_.get(), .events = POLLIN, .revents = 0}}};
  const bool sleeps = lane_.prepare_to_sleep();
  ::poll(entries.data(), entries.size(), sleeps ? milliseconds_to(deadline) : 0);
  lane_.finish_sleep();
  return entries[1].revents == 0 && steady_clock::now() < deadline;
}

std::variant<HttpResponse, DoorConnection::Ended> DoorConnection::perform(
    std::string_view head, std::span<const std::byte> body, Deadline deadline) {
  if (has_ended(0)) return Ended{.why = "the door ended the connection"};
  largest_ = 0;
  ++sent_;
  const auto began = steady_clock::now();
  if (!send(head, body)) return end();
  const auto sent = steady_clock::now();
  auto give_up_spinning = sent + spin;
  bool goes_on = true;
  while (true) {
    const auto response = lane_.receive();
    if (!response) return end();
    if (*response) {
      const auto answered = steady_clock::now();
      HttpResponse answer = take(**response);
      answer.times.send = sent - began;
      answer.times.receive = steady_clock::now() - answered;
      return answer;
    }
    if (!goes_on) break;
    if (steady_clock::now() < give_up_spinning)
      ::sched_yield();
    else
      goes_on = sleep(deadline);
  }
  if (has_ended(0)) return end();
  throw Error({.kind = ErrorKind::timed_out,
               .message = "the gateway behind the door did not answer in time",
               .hint = "'orchid doctor' looks for the cause",
               .retryable = true});
}

}  // namespace orchid::sdk
