#include "server/http_thread.h"

#include <fmt/chrono.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <vector>

#include "foundation/log.h"
#include "foundation/posts_together.h"

namespace orchid::gateway {
namespace {
constexpr std::chrono::milliseconds tick_interval{100};
// Looks at the lanes between two looks at the sockets, while an answer is due: the former cost
// nanoseconds, the latter a system call.
constexpr int looks_at_lanes = 32;
// Connections over its users' Unix socket beyond the limit for all.
constexpr std::size_t kept_for_local = 256;
}  // namespace

HttpThread::HttpThread(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(options),
      host_{.router = parts_.router,
            .tokens = parts_.tokens,
            .limits = options.limits,
            .ended = [this](std::uint64_t session) { sessions_.erase(session); },
            .metrics = metrics_,
            .by_cookie = parts_.by_cookie,
            .body_memory = options.body_memory},
      timer_(parts_.io) {
  host_.now = parts_.clock.now();
  refresh_common_header();
}

void HttpThread::take(AcceptedConnection connection) {
  boost::asio::post(parts_.io, [this, connection = std::move(connection)]() mutable {
    add(std::move(connection));
  });
}

void HttpThread::add(AcceptedConnection connection) {
  owner_.assert_current();
  if (drained_by_) return;
  // Anybody on this machine can connect to a TCP port, and to the Unix socket where it serves
  // everybody. Behind the door there may be anybody.
  const bool is_local = connection.peer_uid == ::geteuid() || connection.peer_uid == uid_t{0} ||
                        connection.tenant.has_value();
  if (sessions_.size() >= options_.connections + (is_local ? kept_for_local : 0)) {
    log::warn("event=connection_refused reason=\"{} connections are open\"", sessions_.size());
    return;
  }
  if (connection.family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(connection.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  StreamSocket socket(parts_.io);
  boost::system::error_code error;
  socket.assign(boost::asio::generic::stream_protocol(connection.family, 0),
                connection.socket.get(), error);
  if (error) return;
  [[maybe_unused]] const int now_the_sockets = connection.socket.release();
  socket.non_blocking(true, error);
  metrics_.connections_opened.add();
  const std::uint64_t id = next_session_++;
  auto session = std::make_shared<Session>(host_, id, std::move(socket), connection.peer_uid);
  if (connection.tenant) session->serve_only(*connection.tenant);
  sessions_.emplace(id, session);
  session->start();
}

void HttpThread::drain(std::chrono::milliseconds patience) {
  boost::asio::post(parts_.io, [this, patience] {
    drained_by_ = parts_.clock.now() + patience;
    host_.draining = true;
    std::vector<std::shared_ptr<Session>> open;
    for (const auto& [id, session] : sessions_) open.push_back(session);
    for (const auto& session : open) session->drain();
  });
}

void HttpThread::refresh_common_header() {
  const std::time_t second = std::chrono::system_clock::to_time_t(parts_.clock.wall_now());
  if (second == common_second_) return;
  common_second_ = second;
  // A browser with the page's cookie may be led to outputs and logs, which are what users wrote.
  host_.common = fmt::format(
      "Server: orchid\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\n"
      "X-Content-Type-Options: nosniff\r\n",
      fmt::gmtime(second));
}

void HttpThread::tick() {
  host_.now = parts_.clock.now();
  refresh_common_header();
  parts_.sweep();
  std::vector<std::shared_ptr<Session>> open;
  open.reserve(sessions_.size());
  for (const auto& [id, session] : sessions_) open.push_back(session);
  for (const auto& session : open) session->check_time();
  timer_.expires_after(tick_interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void HttpThread::wait_for_work() {
  if (parts_.runner.expects_answer_soon()) {
    for (int i = 0; i < looks_at_lanes; ++i)
      if (parts_.runner.poll()) return;
    return;
  }
  if (parts_.runner.prepare_to_sleep()) {
    parts_.io.run_one();
    parts_.runner.finish_sleep();
    parts_.io.poll();
  }
}

void HttpThread::run() {
  owner_.adopt();
  const auto guard = boost::asio::make_work_guard(parts_.io);
  tick();
  while (!ended_) {
    PostsTogether posts;
    const bool handled = parts_.io.poll() > 0;
    const bool answered = parts_.runner.poll();
    if (drained_by_)
      ended_ = (sessions_.empty() && parts_.is_idle()) || parts_.clock.now() >= *drained_by_;
    if (handled || answered || ended_) continue;
    posts.hand_over();  // nobody waits for what we have while we sleep
    wait_for_work();
  }
}

void HttpThread::finish(std::chrono::milliseconds patience) {
  const MonotonicTime give_up = parts_.clock.now() + patience;
  while (!sessions_.empty() && parts_.clock.now() < give_up) parts_.io.run_one_for(tick_interval);
  timer_.cancel();
  std::vector<std::shared_ptr<Session>> open;
  for (const auto& [id, session] : sessions_) open.push_back(session);
  for (const auto& session : open) session->abandon();
}

}  // namespace orchid::gateway
