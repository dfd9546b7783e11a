#include "gateway_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"

namespace orchid::flows {
namespace {

constexpr int send_wait_ms = 1'000;
constexpr int send_tries = 30;

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
  std::unique_lock lock(mutex_);
  if (given_up_ > 0) {
    --given_up_;  // what somebody else has asked for is there, or comes
  } else {
    lock.unlock();
    send(FlowDial{}, {});
    lock.lock();
  }
  if (!connected_.wait_for(lock, patience, [this] { return !connections_.empty(); })) {
    ++given_up_;
    return -1;
  }
  UniqueFd connection = std::move(connections_.front());
  connections_.pop_front();
  return connection.release();
}

void GatewayLink::answer(FlowAnswer answer, std::string_view content) {
  if (content.empty()) {
    if (answer.content == FlowContent::events) answer.content = FlowContent::nothing;
    return send(answer, {});
  }
  auto file = make_sealed_memory("flow", as_bytes(content));
  if (file) return send(answer, {file->get()});
  send(FlowAnswer{.number = answer.number, .failure = std::move(file.error())}, {});
}

/// A gateway that does not read for so long has gone, or goes.
void GatewayLink::send(const FlowMessage& message, const std::vector<int>& descriptors) {
  const std::string text = encode(message);
  for (int i = 0; i < send_tries; ++i) {
    if (send_packet(socket_.get(), text, descriptors)) return;
    pollfd room{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, send_wait_ms) < 0 || (room.revents & (POLLERR | POLLHUP)) != 0) return;
  }
  log::error("event=answer_not_sent reason=\"the gateway does not read\"");
}

}  // namespace orchid::flows
