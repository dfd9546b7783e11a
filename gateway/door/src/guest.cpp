#include "guest.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/files.h"
#include "foundation/random.h"
#include "foundation/sockets.h"
#include "foundation/tcp.h"
#include "gateway_connection.h"
#include "protocol/door_messages.h"
#include "refusal.h"
#include "sandbox/confinement.h"
#include "transport/ucx_lane.h"

namespace orchid::door {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using transport::UcxLaneWorker;

constexpr seconds token_time{3};
constexpr seconds check_time{4};  // for the gateway to look at the token; a client waits 5 s
constexpr seconds lane_time{10};
constexpr std::chrono::minutes idle_time{5};
constexpr std::chrono::microseconds spin{50};
constexpr ByteCount memory = 128_MiB;  // UCX's and ours, without the lane's slabs

const char* const gateway_gone =
    "the gateway behind the door does not answer: try again when it is back";

/// Waits for `events`; false: not within `deadline`.
bool wait_for(int fd, short events, MonotonicTime deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  return left.count() > 0 && ::poll(&entry, 1, static_cast<int>(left.count())) == 1;
}

bool read_all(int fd, std::span<std::byte> bytes, MonotonicTime deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLIN, deadline)) {
      return false;
    }
  }
  return true;
}

/// What fits into the socket's buffer: a client that does not even read this is not waited for.
void send_at_once(int fd, std::span<const std::byte> bytes) {
  [[maybe_unused]] const ssize_t sent =
      ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

class Guest {
 public:
  explicit Guest(GuestParts parts)
      : client_(std::move(parts.client)),
        parent_(std::move(parts.parent)),
        token_bytes_(parts.token_bytes),
        confinement_{.role = SandboxRole::door,
                     .data_limit = memory,
                     .parent_pid = static_cast<int>(parts.parent_pid),
                     .keep_descriptors = {0, 1, 2, client_.get(), parent_.get()},
                     .protected_descriptors = 3,
                     .readable_paths = {}} {
    if (parts.gateway) {
      confinement_.keep_descriptors.push_back(parts.gateway.get());
      gateway_.emplace(std::move(parts.gateway));
    }
    std::ranges::sort(confinement_.keep_descriptors);
  }

  int run() {
    if (auto confined = confine(confinement_); !confined) return 1;
    if (!check_token() || !open_lane()) return 1;
    if (auto confined = confine_further(confinement_); !confined) return 1;
    while (serve_next()) {
    }
    const DoorFarewell farewell{.taken = taken_};
    send_at_once(client_.get(), std::as_bytes(std::span(&farewell, 1)));
    return 0;
  }

 private:
  [[nodiscard]] bool check_token();
  [[nodiscard]] bool open_lane();
  void turn_away(int status, std::string_view document);
  [[nodiscard]] bool serve_next();
  [[nodiscard]] bool sleep();
  [[nodiscard]] bool serve(std::span<const std::byte> request);
  [[nodiscard]] GatewayConnection::End pass_on(const GatewayConnection::Exchange& exchange);
  [[nodiscard]] bool reach_gateway();
  [[nodiscard]] bool answer(std::string_view response);

  UniqueFd client_;
  UniqueFd parent_;
  std::uint16_t token_bytes_;
  ConfinementOptions confinement_;
  std::optional<GatewayConnection> gateway_;
  std::optional<transport::UcxContext> ucx_;
  std::optional<UcxLaneWorker> lane_;
  std::uint64_t taken_ = 0;  // requests that came through the lane
};

void Guest::turn_away(int status, std::string_view document) {
  document = document.substr(0, longest_door_text);
  const DoorWelcome welcome{.status = static_cast<std::uint16_t>(status),
                            .text_bytes = static_cast<std::uint32_t>(document.size())};
  send_at_once(client_.get(), std::as_bytes(std::span(&welcome, 1)));
  send_at_once(client_.get(), as_bytes(document));
}

/// The gateway says whether the client may come in; nobody else knows tokens.
bool Guest::check_token() {
  const MonotonicTime now = steady_clock::now();
  std::string token(token_bytes_, '\0');
  if (!read_all(client_.get(), std::as_writable_bytes(std::span(token)), now + token_time))
    return false;
  if (!is_clean_token(token)) {
    turn_away(401,
              problem_document({.status = 401,
                                .code = ErrorCode::unauthenticated,
                                .detail = "the token has characters that a token cannot have"}));
    return false;
  }
  const std::string request =
      "GET /v1/limits HTTP/1.1\r\nHost: orchid\r\nAuthorization: Bearer " + token + "\r\n\r\n";
  std::vector<std::byte> response;
  const auto end = pass_on({.request = as_bytes(request),
                            .client = client_.get(),
                            .deadline = now + check_time,
                            .room = [&](std::size_t size) {
                              response.resize(size);
                              return response.data();
                            }});
  if (end == GatewayConnection::End::client_gone) return false;
  if (end != GatewayConnection::End::answered) {
    turn_away(502, problem_document({.detail = gateway_gone, .retryable = true}));
    return false;
  }
  const auto head = parse_http_head(as_text(response));
  const int status = head && *head ? http_status_of(**head).value_or(502) : 502;
  if (status == 200) return send_packet(parent_.get(), guest_admitted).has_value();
  turn_away(status, as_text(response).substr(head && *head ? (*head)->size : 0));
  return false;
}

bool Guest::open_lane() {
  auto ucx = transport::UcxContext::create({.address = local_host(client_.get())});
  const auto refuse = [this](const Failure& failure) {
    turn_away(501, problem_document({.status = 501,
                                     .code = ErrorCode::unsupported,
                                     .detail = "the door's host: " + failure.message}));
    return false;
  };
  if (!ucx) return refuse(ucx.error());
  ucx_.emplace(std::move(*ucx));
  transport::ConnectionKey key{};
  fill_random(key);
  auto listener = transport::UcxLaneListener::listen(
      *ucx_,
      {.address = local_host(client_.get()), .key = key, .geometry = {door_slab, door_slab}});
  if (!listener) return refuse(listener.error());
  const DoorWelcome welcome{.port = static_cast<std::uint16_t>(listener->port()), .key = key};
  send_at_once(client_.get(), std::as_bytes(std::span(&welcome, 1)));
  auto lane = listener->accept(steady_clock::now() + lane_time, client_.get());
  if (!lane) return false;
  lane_.emplace(std::move(*lane));
  return true;
}

/// False: the client or the process that made us has gone, or nothing has come for long.
bool Guest::sleep() {
  std::array<pollfd, 3> entries{{{.fd = lane_->wake_descriptor(), .events = POLLIN, .revents = 0},
                                 {.fd = client_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = parent_.get(), .events = POLLIN, .revents = 0}}};
  const bool sleeps = lane_->prepare_to_sleep();
  const int woken = ::poll(entries.data(), entries.size(),
                           sleeps ? static_cast<int>(milliseconds(idle_time).count()) : 0);
  lane_->finish_sleep();
  if (sleeps && woken == 0) return false;
  return entries[1].revents == 0 && entries[2].revents == 0;
}

bool Guest::serve_next() {
  const auto give_up = steady_clock::now() + spin;
  while (true) {
    const auto request = lane_->receive();
    if (!request) return false;
    if (*request) return serve((*request)->input);
    if (steady_clock::now() > give_up) break;
    ::sched_yield();
  }
  return sleep();
}

bool Guest::answer(std::string_view response) {
  std::byte* room = lane_->output(response.size());
  if (room == nullptr) return false;
  std::memcpy(room, response.data(), response.size());
  return lane_->answer({}).has_value();
}

bool Guest::serve(std::span<const std::byte> request) {
  ++taken_;
  const auto head = parse_http_head(as_text(request));
  const bool whole = head && *head && !(*head)->has("transfer-encoding") &&
                     !(*head)->has("upgrade") && !(*head)->has("expect") &&
                     (*head)->size + (*head)->content_length == request.size();
  if (!whole)
    return answer(http_response(
        {.status = 400,
         .code = ErrorCode::bad_request,
         .detail =
             "what goes through the door must be one whole HTTP/1.1 request, with the length of "
             "its body and without Upgrade and Expect"}));
  const auto end = pass_on({.request = request,
                            .is_head = (*head)->start_line.starts_with("HEAD "),
                            .client = client_.get(),
                            .room = [this](std::size_t size) { return lane_->output(size); }});
  switch (end) {
    case GatewayConnection::End::answered:
      return lane_->answer({}).has_value();
    case GatewayConnection::End::not_sent:
      return answer(http_response({.detail = gateway_gone, .retryable = true}));
    case GatewayConnection::End::lost:
      return answer(http_response(
          {.detail = "the gateway went away before it answered: it may have done what was asked"}));
    case GatewayConnection::End::unsuitable:
      return answer(http_response(
          {.status = 501, .code = ErrorCode::unsupported, .detail = gateway_->problem()}));
    case GatewayConnection::End::client_gone:
      break;
  }
  return false;
}

/// One that was not sent, since a kept connection had ended, is sent again over a new one.
GatewayConnection::End Guest::pass_on(const GatewayConnection::Exchange& exchange) {
  for (const bool first : {true, false}) {
    const bool kept = gateway_ && gateway_->is_usable();
    if (!kept && !reach_gateway()) return GatewayConnection::End::not_sent;
    const auto end = gateway_->exchange(exchange);
    if (end != GatewayConnection::End::not_sent) return end;
    gateway_.reset();
    if (!first || !kept) break;
  }
  return GatewayConnection::End::not_sent;
}

/// We cannot connect to anything; the process that made us does it.
bool Guest::reach_gateway() {
  gateway_.reset();
  if (!send_packet(parent_.get(), guest_wants_gateway) ||
      !wait_for(parent_.get(), POLLIN, steady_clock::now() + check_time))
    return false;
  auto packet = receive_packet(parent_.get(), false);
  if (!packet || !*packet || (*packet)->descriptors.size() != 1) return false;
  gateway_.emplace(std::move((*packet)->descriptors.front()));
  return true;
}

}  // namespace

int live_as_guest(GuestParts parts) {
  ::prctl(PR_SET_NAME, "orchid-door-one");
  // Whoever takes this process over must not type into the terminal that Orchid was started from.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard < 3; ++standard)
    if (null < 0 || ::dup2(null, standard) < 0) return 1;
  // Never destroyed: UCX ends the process with a message when it puts away a lane that has broken.
  return (new Guest(std::move(parts)))->run();
}

}  // namespace orchid::door
