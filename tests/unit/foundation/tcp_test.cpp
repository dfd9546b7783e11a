#include "foundation/tcp.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "foundation/pipe.h"

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

TEST_CASE("the longest text of an address is taken whole, and one character more is refused") {
  // 45 characters, the most that an IP address can have.
  const std::string longest = "[0000:0000:0000:0000:0000:ffff:255.255.255.255";
  CHECK(connect_tcp(longest + "]:1", in(1s), HostNames::refused).error().code !=
        ErrorCode::bad_request);
  CHECK(connect_tcp(longest + "5]:1", in(1s), HostNames::refused).error().code ==
        ErrorCode::bad_request);
  CHECK(listen_tcp(longest + "5]:0").error().code == ErrorCode::bad_configuration);
  if (has_ipv6_loopback()) {
    const TcpListener listener = listen_tcp("[0000:0000:0000:0000:0000:0000:0000:0001]:0").value();
    CHECK(listener.host == "0000:0000:0000:0000:0000:0000:0000:0001");
    CHECK(connect_tcp(listener.address, in(5s), HostNames::refused).has_value());
  }
  // A label of a name has at most 63 characters, a name 253; no buffer of ours has a say in it.
  for (const std::size_t size : {64UL, 254UL, 1025UL, 100'000UL}) {
    CAPTURE(size);
    const std::string name(size, 'n');
    const auto refused = connect_tcp(name + ":1", in(1s), HostNames::looked_up);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::unreachable);
    CHECK(refused.error().message.find("'" + name + ":1' cannot be looked up") !=
          std::string::npos);
  }
}

TEST_CASE("a port over 65535 is refused, and not another one in its place") {
  CHECK(is_port("0"));
  CHECK(is_port("65535"));
  for (const char* none : {"", "65536", "4294967376", "-1", "+1", " 80", "80 ", "http"})
    CHECK_FALSE(is_port(none));
  const TcpListener listener = listen_tcp("127.0.0.1:0").value();
  const std::string beyond = "127.0.0.1:" + std::to_string(65'536 + listener.port);
  CHECK(connect_tcp(beyond, in(5s), HostNames::refused).error().code == ErrorCode::bad_request);
  CHECK(connect_tcp(beyond, in(5s), HostNames::looked_up).error().code == ErrorCode::bad_request);
  CHECK(listen_tcp("127.0.0.1:65536").error().code == ErrorCode::bad_configuration);
}

TEST_CASE("the own end of a connection, made or yet to be made") {
  const auto listener = listen_tcp("127.0.0.1:0").value();
  const auto made = connect_tcp(listener.address, in(5s), HostNames::refused).value();
  CHECK(local_host(made.get()) == "127.0.0.1");
  CHECK(local_host_towards(listener.address) == "127.0.0.1");
  if (has_ipv6_loopback()) CHECK(local_host_towards("[::1]:80") == "::1");
  CHECK(local_host_towards("localhost:80").empty());  // names are not looked up
  CHECK(local_host_towards("127.0.0.1").empty());
  CHECK(local_host(make_pipe().value().reader.get()).empty());
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
