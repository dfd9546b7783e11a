#include "server/listener.h"

#include <sys/socket.h>

#include <cerrno>

#include "foundation/log.h"
#include "foundation/sockets.h"

namespace orchid::gateway {
namespace {
constexpr std::chrono::milliseconds pause_when_full{100};
}

Listener::Listener(boost::asio::io_context& io, ListeningSocket socket, Take take)
    : family_(socket.family),
      trusts_uid_(socket.trusts_uid),
      socket_(io, socket.socket.release()),
      pause_(io),
      take_(std::move(take)) {}

void Listener::start() { wait(); }

void Listener::stop() {
  boost::system::error_code ignored;
  pause_.cancel();
  socket_.close(ignored);
}

void Listener::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (!error) accept_all();
                     });
}

void Listener::accept_all() {
  while (true) {
    AcceptedConnection connection{
        .socket = UniqueFd(
            ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)),
        .family = family_,
        .peer_uid = std::nullopt};
    if (!connection.socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return wait();
      // No descriptors or no memory: the ones that wait stay in the kernel's queue for a moment.
      log::warn("event=accept_failed reason=\"{}\"", fail_errno("accept").error().message);
      pause_.expires_after(pause_when_full);
      pause_.async_wait([this](const boost::system::error_code& error) {
        if (!error) accept_all();
      });
      return;
    }
    if (trusts_uid_) {
      auto peer = peer_credentials(connection.socket.get());
      if (!peer) continue;
      connection.peer_uid = peer->uid;
    }
    take_(std::move(connection));
  }
}

}  // namespace orchid::gateway
