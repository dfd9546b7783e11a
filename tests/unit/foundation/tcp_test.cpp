#include "foundation/tcp.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>
#include <vector>

namespace orchid {
namespace {

using namespace std::chrono_literals;

std::chrono::steady_clock::time_point in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

/// A listener that lets nobody in any more: its queue is full, and what comes is not answered.
struct FullListener {
  TcpListener listener = listen_tcp("127.0.0.1:0").value();
  std::vector<UniqueFd> guests;
  FullListener() {
    REQUIRE(::listen(listener.socket.get(), 0) == 0);
    while (auto guest = connect_tcp(listener.address, in(100ms), HostNames::refused))
      guests.push_back(std::move(*guest));
  }
};

}  // namespace

TEST_CASE("what listens is found under the address that it names") {
  for (const char* address : {"127.0.0.1:0", "[::1]:0"}) {
    if (address[0] == '[' && !has_ipv6_loopback()) continue;
    const TcpListener listener = listen_tcp(address).value();
    CHECK(listener.port != 0);
    CHECK(listener.address.ends_with(":" + std::to_string(listener.port)));
    CHECK(connect_tcp(listener.address, in(5s), HostNames::refused).has_value());
  }
  const TcpListener listener = listen_tcp("127.0.0.1:0").value();
  const std::string by_name = "localhost:" + std::to_string(listener.port);
  CHECK(connect_tcp(by_name, in(5s), HostNames::looked_up).has_value());
  CHECK(connect_tcp(by_name, in(5s), HostNames::refused).error().code == ErrorCode::bad_request);
}

TEST_CASE("an address that is none is said to be none") {
  for (const char* address : {"", "127.0.0.1", "127.0.0.1:", ":80", "here:80", "[::1:80"}) {
    CAPTURE(address);
    CHECK(listen_tcp(address).error().code == ErrorCode::bad_configuration);
    CHECK(connect_tcp(address, in(1s), HostNames::refused).error().code == ErrorCode::bad_request);
  }
  CHECK(listen_tcp("192.0.2.1:0").error().code == ErrorCode::bad_configuration);
}

TEST_CASE("nobody at a port is unreachable; one who does not answer costs the deadline") {
  std::string gone;
  {
    gone = listen_tcp("127.0.0.1:0").value().address;
  }
  CHECK(connect_tcp(gone, in(5s), HostNames::refused).error().code == ErrorCode::unreachable);
  const FullListener full;
  CHECK(connect_tcp(full.listener.address, in(50ms), HostNames::refused).error().code ==
        ErrorCode::timed_out);
}

TEST_CASE("signals do not shorten the wait for a connection") {
  const FullListener full;
  struct sigaction ignoring{};
  ignoring.sa_handler = [](int) {};
  struct sigaction before{};
  REQUIRE(::sigaction(SIGUSR1, &ignoring, &before) == 0);
  const pthread_t waiting = ::pthread_self();
  std::atomic<bool> over{false};
  std::thread disturbs([&] {
    while (!over) {
      ::pthread_kill(waiting, SIGUSR1);
      std::this_thread::yield();
    }
  });
  const auto start = std::chrono::steady_clock::now();
  const auto result = connect_tcp(full.listener.address, in(100ms), HostNames::refused);
  const auto waited = std::chrono::steady_clock::now() - start;
  over = true;
  disturbs.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  CHECK(result.error().code == ErrorCode::timed_out);
  CHECK(waited >= 100ms);
}

}  // namespace orchid
