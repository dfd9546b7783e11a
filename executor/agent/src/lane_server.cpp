#include "lane_server.h"

#include <sys/socket.h>

#include <vector>

namespace orchid::executor {

LaneServer::LaneServer(LaneServices& services, UniqueFd listener)
    : services_(services), listener_(services.io, listener.release()), timer_(services.io) {
  accept();
}

void LaneServer::accept() {
  listener_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this](const boost::system::error_code& error) {
        if (error) return;
        while (true) {
          UniqueFd socket(
              ::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
          if (!socket) break;
          const auto peer = peer_credentials(socket.get());
          if (!peer) continue;
          auto session = std::make_shared<LaneSession>(services_, *peer, [this](LaneSession& over) {
            sessions_.erase(over.shared_from_this());
          });
          session->start(std::move(socket));
          sessions_.insert(std::move(session));
        }
        if (!watching_ && !sessions_.empty()) watch();
        accept();
      });
}

void LaneServer::watch() {
  watching_ = !sessions_.empty();
  if (!watching_) return;
  timer_.expires_after(watch_interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    for (const auto& session : sessions_) session->watch(now);
    watch();
  });
}

void LaneServer::revoke(const LeaseId& lease, const Failure& why) {
  const std::vector<std::shared_ptr<LaneSession>> sessions(sessions_.begin(), sessions_.end());
  for (const auto& session : sessions)
    if (session->lease() == lease) session->revoke(why);
}

void LaneServer::revoke_all(const Failure& why) {
  const std::vector<std::shared_ptr<LaneSession>> sessions(sessions_.begin(), sessions_.end());
  for (const auto& session : sessions) session->revoke(why);
}

}  // namespace orchid::executor
