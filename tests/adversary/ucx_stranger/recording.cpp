#include "recording.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <future>

#include "foundation/tcp.h"
#include "victims.h"

namespace orchid::tests {
namespace {

/// Brings what has come to the other side; false: that end has hung up.
bool carry(int from, int to, Recording* copy) {
  std::array<std::byte, 4096> bytes;
  const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  const auto size = static_cast<std::size_t>(got);
  if (copy != nullptr) copy->insert(copy->end(), bytes.begin(), bytes.begin() + got);
  return ::send(to, bytes.data(), size, MSG_NOSIGNAL) == got;
}

}  // namespace

Recording record(int port, const std::function<void(int port)>& stranger) {
  const TcpListener listener = listen_tcp("127.0.0.1:0").value();
  const auto talk = std::async(std::launch::async, [&] { stranger(listener.port); });
  Recording recording;
  UniqueFd from;
  UniqueFd to;
  const auto is_over = [&] {
    return talk.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  while (!is_over()) {
    std::array<pollfd, 3> ends{
        pollfd{.fd = from ? -1 : listener.socket.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = from.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = to.get(), .events = POLLIN, .revents = 0}};
    if (::poll(ends.data(), ends.size(), 10) <= 0) continue;
    if (ends[0].revents != 0) {
      from.reset(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      to = transport::tests::connect_quietly(port);
    }
    if (ends[1].revents != 0 && !carry(from.get(), to.get(), &recording)) break;
    if (ends[2].revents != 0 && !carry(to.get(), from.get(), nullptr)) break;
  }
  return recording;
}

UniqueFd say_again(int port, const Recording& recording) {
  UniqueFd socket = transport::tests::connect_quietly(port);
  pollfd writable{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  if (!socket || ::poll(&writable, 1, 5000) != 1) return UniqueFd();
  if (::send(socket.get(), recording.data(), recording.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(recording.size()))
    return UniqueFd();
  return socket;
}

}  // namespace orchid::tests
