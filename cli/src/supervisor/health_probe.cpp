#include "supervisor/health_probe.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "foundation/sockets.h"

namespace orchid::cli {
namespace {

/// A question without an answer until the next one is given up.
constexpr std::chrono::milliseconds between_questions{2'000};
constexpr std::string_view question =
    "GET /healthz HTTP/1.1\r\nHost: orchid\r\nConnection: close\r\n\r\n";

}  // namespace

bool HealthProbe::turn(MonotonicTime now) {
  const bool answered = connection_ && take_answer();
  if (now < next_question_) return answered;
  next_question_ = now + between_questions;
  ask();
  return answered;
}

void HealthProbe::ask() {
  connection_.reset();
  const auto fitted = fit_socket_path(socket_);
  if (!fitted) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(fitted->path, address.sun_path);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return;  // nobody listens, or too many wait: no answer
  if (::send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(question.size()))
    return;
  connection_ = std::move(socket);
}

bool HealthProbe::take_answer() {
  std::array<char, 512> text{};
  const ssize_t got = ::recv(connection_.get(), text.data(), text.size(), MSG_DONTWAIT);
  if (got < 0) return false;  // not yet
  connection_.reset();
  return got > 0 &&
         std::string_view(text.data(), static_cast<std::size_t>(got)).starts_with("HTTP/1.1 200");
}

}  // namespace orchid::cli
