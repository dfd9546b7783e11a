// children/time_limit.h: how long something may take.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace orchid::executor {

/// One limit at a time. A timer that has expired cannot be cancelled any more, its handler is on
/// its way: here a limit that has ended is not told, nor one whose owner has gone. Owned by the
/// agent's thread.
class TimeLimit {
 public:
  explicit TimeLimit(boost::asio::io_context& io) : timer_(io) {}

  /// In place of the limit that there is. `reached` may destroy this.
  void begin(std::chrono::milliseconds time, std::function<void()> reached) {
    holds_ = std::make_shared<char>();
    timer_.expires_after(time);
    timer_.async_wait([holds = std::weak_ptr(holds_),
                       reached = std::move(reached)](const boost::system::error_code& error) {
      if (!error && !holds.expired()) reached();
    });
  }
  void end() {
    holds_.reset();
    timer_.cancel();
  }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<char> holds_;  // as long as the limit does
};

}  // namespace orchid::executor
