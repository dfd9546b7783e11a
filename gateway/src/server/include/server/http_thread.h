// server/http_thread.h: one HTTP thread: its connections and the loop that also drives its call
// runner.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "calls/call.h"
#include "foundation/clock.h"
#include "foundation/owner_thread.h"
#include "foundation/unique_fd.h"
#include "server/http_metrics.h"
#include "server/session.h"

namespace orchid::gateway {

/// A connection that was accepted and belongs to no event loop yet.
struct AcceptedConnection {
  UniqueFd socket;  // non-blocking
  int family = 0;
  std::optional<uid_t> peer_uid;   // of a Unix socket where that counts
  std::optional<Tenant> tenant{};  // who is at its other end, whatever its requests say
};

/// Owns the sessions. `run` is the thread's whole life; what other threads may call says so.
class HttpThread {
 public:
  struct Parts {
    boost::asio::io_context& io;
    const Router& router;
    const TokenBook& tokens;
    CallRunner& runner;
    const Clock& clock;
    std::function<void()> sweep;    // several times a second
    std::function<bool()> is_idle;  // no call is under way; asked when draining
    CookieJudge by_cookie{};        // empty: cookies say nothing
  };
  struct Options {
    SessionLimits limits;
    std::size_t connections = 4096;
    ByteCount body_memory{1ULL << 30};
  };
  HttpThread(Parts parts, Options options);

  /// Until `drain` has done its work.
  void run();
  /// After `run`, on the same thread: sends what has been answered since, for `patience` at most,
  /// and closes all connections.
  void finish(std::chrono::milliseconds patience);
  /// Any thread. Beyond the limit the connection is closed.
  void take(AcceptedConnection connection);
  /// Any thread: answers what is under way, then `run` returns; after `patience` it does so anyway.
  void drain(std::chrono::milliseconds patience);
  /// Read by any thread.
  [[nodiscard]] const HttpMetrics& metrics() const { return metrics_; }

 private:
  void add(AcceptedConnection connection);
  void tick();
  void wait_for_work();
  void refresh_common_header();

  Parts parts_;
  Options options_;
  OwnerThread owner_;
  HttpMetrics metrics_;
  SessionHost host_;
  boost::asio::steady_timer timer_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>>
      sessions_;  // shared with replies that are due
  std::uint64_t next_session_ = 1;
  std::time_t common_second_ = 0;
  std::optional<MonotonicTime> drained_by_;
  bool ended_ = false;
};

}  // namespace orchid::gateway
