// Strangers in the milliseconds in which a lane is made: UCX of one end listens, on a port that
// they have found.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "recording.h"
#include "uct_stranger.h"
#include "ucx/frame.h"
#include "ucx_lane_fixture.h"
#include "victims.h"

namespace orchid::transport {
namespace {

using namespace tests;
using orchid::tests::Recording;

/// Of what strangers say to a UCX that reads it.
struct Recordings {
  Recording put;                    // of 32 times 'A' over the canary
  std::vector<Recording> messages;  // all of UCP's, with forged contents
  std::string changed;              // who has had its canary overwritten, or has ended, by number
  std::string ended;
};

Recordings record_strangers() {
  Recordings all;
  const auto target = reinterpret_cast<std::uint64_t>(canary.data());
  const Child open = Child::start_worker(read_everything);
  const int port = ucx_port_of(open.pid(), 0);
  REQUIRE(port != 0);
  all.put =
      orchid::tests::record(port, [&](int at) { CHECK(orchid::tests::put_by_force(at, target)); });
  // The reason for all the rest. A newer UCX that refuses it makes this fail: tell the threat
  // model.
  CHECK(canary_of(open.pid()) == std::string(32, 'A'));
  const auto words = forged_words();
  using orchid::tests::first_message, orchid::tests::last_message;
  for (unsigned number = first_message; number <= last_message; ++number) {
    const Child victim = Child::start_worker(read_everything);
    const int at = ucx_port_of(victim.pid(), 0);
    REQUIRE(at != 0);
    all.messages.push_back(orchid::tests::record(
        at, [&](int via) { CHECK(orchid::tests::send_by_force(via, number, words)); }));
    if (!victim.is_running())
      all.ended += " " + std::to_string(number);
    else if (canary_of(victim.pid()) != unhurt)
      all.changed += " " + std::to_string(number);
  }
  return all;
}

const Recordings& recordings() {
  static const Recordings all = record_strangers();
  return all;
}

/// Ends the connection so that the peer's socket has no other end any more; what has come stays.
void reset(UniqueFd connection) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  REQUIRE(::setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
}

/// All of it, each over a connection of its own.
std::vector<UniqueFd> attack(int port) {
  std::vector<UniqueFd> connections;
  connections.push_back(orchid::tests::say_again(port, recordings().put));
  for (const Recording& message : recordings().messages)
    connections.push_back(orchid::tests::say_again(port, message));
  return connections;
}

}  // namespace

TEST_CASE("what strangers say is said again, and hurts a UCX that reads it") {
  const Child open = Child::start_worker(read_everything);
  const int port = ucx_port_of(open.pid(), 0);
  const UniqueFd stranger = orchid::tests::say_again(port, recordings().put);
  const auto is_hurt = [&] { return canary_of(open.pid()) == std::string(32, 'A'); };
  for (const auto end = in(10s); !is_hurt() && std::chrono::steady_clock::now() < end;)
    std::this_thread::yield();
  CHECK(is_hurt());
  CHECK(recordings().ended.find(" 9") != std::string::npos);
  MESSAGE("messages that end a process that reads them:"
          << recordings().ended << "; that change its memory:" << recordings().changed);
}

// The clients are processes of their own: one tells the worker which connections its process has.

TEST_CASE("whatever strangers send to a worker while its lane is made, it reads none of it") {
  const Recordings& all = recordings();
  REQUIRE_FALSE(all.put.empty());
  const Child worker = Child::start_worker(serve_asleep);
  const int door = port_of(worker);
  SlowRelay relay(door);
  const Child client = Child::start_client(call_for_ever, worker, relay.address());
  const int port = ucx_port_of(worker.pid(), door);
  REQUIRE(port != 0);
  std::vector<UniqueFd> strangers = attack(port);
  for (const UniqueFd& stranger : strangers) REQUIRE(stranger);
  std::vector<UniqueFd> of_those_who_go = attack(port);
  for (UniqueFd& silent : silent_connections(port, 1000)) strangers.push_back(std::move(silent));
  for (UniqueFd& stranger : of_those_who_go) reset(std::move(stranger));
  relay.let_go();
  CHECK(goes_on(client));
  CHECK(canary_of(worker.pid()) == unhurt);
  for (const UniqueFd& stranger : strangers) CHECK(is_cut(stranger.get()));
  CHECK(listening_ports(worker.pid()).empty());
  CHECK(goes_on(client));
}

TEST_CASE("strangers who never stop coming while a lane is made: it is made, or given up") {
  const Child worker = Child::start_worker(serve_asleep);
  const int door = port_of(worker);
  SlowRelay relay(door);
  const Child client = Child::start_client(call_for_ever, worker, relay.address());
  const int port = ucx_port_of(worker.pid(), door);
  REQUIRE(port != 0);
  std::atomic<std::size_t> came = 0;
  std::jthread crowd([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      if (orchid::tests::say_again(port, recordings().put)) ++came;
  });
  while (came < 20) std::this_thread::yield();
  relay.let_go();
  const bool made = goes_on(client);
  MESSAGE("after " << came.load() << " strangers: the lane is "
                   << std::string(made ? "made" : "given up"));
  if (made) {
    CHECK(canary_of(worker.pid()) == unhurt);
  } else {
    CHECK(has_left(client));
    CHECK(has_left(worker));  // what they say would have ended it by a signal
  }
  crowd.request_stop();
  crowd.join();
  const Child next = Child::start_worker(serve_asleep);
  UcxLaneClient other = next.connect();
  check_lane(other);
}

TEST_CASE("a client's UCX listens to nobody while its lane is made") {
  const TcpListener silent_worker = listen_tcp("127.0.0.1:0").value();
  const Child key_of = Child::start_worker(serve_asleep);
  const Child client = Child::start_client(call_for_ever, key_of, silent_worker.address);
  pollfd waiting{.fd = silent_worker.socket.get(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&waiting, 1, 10'000) == 1);
  const UniqueFd worker(::accept4(silent_worker.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::array<std::byte, sizeof(Frame)> bytes{};
  constexpr std::size_t hello_and_size = 32 + 4;  // the notice comes when its UCX has been started
  REQUIRE(::recv(worker.get(), bytes.data(), hello_and_size, MSG_WAITALL) == hello_and_size);
  CHECK(listening_ports(client.pid()).empty());
}

TEST_CASE("strangers who look for a client's port all the time do not get at its memory") {
  const Child bystander = Child::start_worker(serve_asleep);
  const Child its_client = Child::start_client(call_for_ever, bystander);
  std::size_t found = 0;
  for (int round = 0; round < 20; ++round) {
    const Child worker = Child::start_worker(serve_asleep);
    const Child client = Child::start_client(call_for_ever, worker);
    // The worker listens until their lane is there.
    bool serves = false;
    std::vector<UniqueFd> strangers;
    for (const auto end = in(10s); !serves && std::chrono::steady_clock::now() < end;) {
      for (const int port : listening_ports(client.pid())) {
        ++found;
        strangers.push_back(orchid::tests::say_again(port, recordings().put));
      }
      serves = listening_ports(worker.pid()).empty();
    }
    CHECK(serves);
    CHECK(goes_on(client));
    CHECK(goes_on(its_client));
    CHECK(canary_of(client.pid()) == unhurt);
    CHECK(canary_of(worker.pid()) == unhurt);
  }
  MESSAGE("ports of clients that were seen open: " << found << " in 20 lanes");
}

TEST_CASE("while a lane is made UCX listens on the interface of the worker's address only") {
  UcxContext all = UcxContext::create({}).value();
  UcxContext one = UcxContext::create({.address = "127.0.0.1"}).value();
  CHECK(all.description().find("UCX_NET_DEVICES") == std::string::npos);
  CHECK(one.description().find("UCX_NET_DEVICES=lo ") != std::string::npos);
  // What is no address of this host leaves the choice to UCX.
  UcxContext none = UcxContext::create({.address = "203.0.113.1"}).value();
  CHECK(none.description().find("UCX_NET_DEVICES") == std::string::npos);
  Child worker = Child::start_worker(serve_asleep);
  const int door = port_of(worker);
  SlowRelay relay(door);
  auto connecting = std::async(std::launch::async, [&] { return worker.connect(relay.address()); });
  REQUIRE(ucx_port_of(worker.pid(), door) != 0);
  CHECK(listening_addresses(worker.pid()) == std::set<std::string>{"127.0.0.1"});
  relay.let_go();
  UcxLaneClient client = connecting.get();
  check_lane(client);
}

}  // namespace orchid::transport
