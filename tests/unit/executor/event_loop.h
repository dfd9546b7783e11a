// event_loop.h: the event loop of a test; no wait without a deadline.
#pragma once
#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>

namespace orchid::executor::test {

/// A base of fixtures: what they have is gone before the loop is.
struct EventLoop {
  template <typename Condition>
  void run_until(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.run_one_for(std::chrono::milliseconds(100));
    }
  }

  boost::asio::io_context io{1};
};

}  // namespace orchid::executor::test
