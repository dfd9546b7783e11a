#include "gateway_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"

namespace orchid::flows {
namespace {

constexpr int send_wait_ms = 1'000;
constexpr int send_tries = 30;
/// What was asked for and has not come after so long does not come.
constexpr std::chrono::seconds answered_within{5};

/// The gateway ends a connection that says nothing for a while.
bool has_ended(int connection) {
  pollfd now{.fd = connection, .events = POLLIN, .revents = 0};
  return ::poll(&now, 1, 0) != 0;
}

}  // namespace

GatewayLink::~GatewayLink() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  if (receiver_.joinable()) receiver_.join();
}

void GatewayLink::start() {
  receiver_ = std::thread([this] { receive(); });
}

void GatewayLink::receive() {
  while (true) {
    auto packet = receive_packet(socket_.get(), /*wait=*/true);
    if (!packet || !*packet || !take(std::move(**packet))) break;
  }
  arrivals_.put(GatewayGone{});
}

bool GatewayLink::take(Packet packet) {
  auto message = parse_flow_message(packet.text);
  if (!message) {
    log::error("event=bad_message reason=\"{}\"", message.error().message);
    return false;
  }
  if (std::holds_alternative<FlowConnection>(*message) && packet.descriptors.size() == 1) {
    {
      const std::lock_guard lock(mutex_);
      connections_.push_back(std::move(packet.descriptors[0]));
    }
    connected_.notify_one();
    return true;
  }
  auto* request = std::get_if<FlowRequest>(&*message);
  if (request == nullptr) return false;
  Asked asked{.request = std::move(*request), .content = {}};
  if (!packet.descriptors.empty()) {
    auto content = MappedFile::map(packet.descriptors[0].get(), {.limit = largest_flow_submission});
    if (!content) {
      answer({.number = asked.request.number, .failure = content.error()});
      return true;
    }
    asked.content.assign(content->bytes().begin(), content->bytes().end());
  }
  arrivals_.put(std::move(asked));
  return true;
}

int GatewayLink::dial(std::chrono::milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (given_up_ > 0) {
      --given_up_;  // what somebody else has asked for is there, or comes
    } else {
      lock.unlock();
      const bool is_asked = send(FlowDial{}, {});
      lock.lock();
      if (!is_asked) return -1;
    }
    if (!connected_.wait_until(lock, give_up, [this] { return !connections_.empty(); })) {
      // After so long nothing comes any more.
      given_up_ = patience < answered_within ? given_up_ + 1 : 0;
      return -1;
    }
    UniqueFd connection = std::move(connections_.front());
    connections_.pop_front();
    if (!has_ended(connection.get())) return connection.release();
  }
}

void GatewayLink::answer(FlowAnswer answer, std::string_view content) {
  if (content.empty()) {
    if (answer.content == FlowContent::events) answer.content = FlowContent::nothing;
    (void)send(answer, {});
    return;
  }
  auto file = make_sealed_memory("flow", as_bytes(content));
  if (file)
    (void)send(answer, {file->get()});
  else
    (void)send(FlowAnswer{.number = answer.number, .failure = std::move(file.error())}, {});
}

/// A gateway that does not read for so long has gone, or goes.
bool GatewayLink::send(const FlowMessage& message, const std::vector<int>& descriptors) {
  const std::string text = encode(message);
  for (int i = 0; i < send_tries; ++i) {
    if (send_packet(socket_.get(), text, descriptors)) return true;
    pollfd room{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, send_wait_ms) < 0 && errno != EINTR) return false;
    if ((room.revents & (POLLERR | POLLHUP)) != 0) return false;
  }
  log::error("event=answer_not_sent reason=\"the gateway does not read\"");
  return false;
}

}  // namespace orchid::flows
