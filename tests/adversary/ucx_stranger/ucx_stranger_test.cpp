// A stranger at the port of a worker, before, while and after its client comes.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include "uct_stranger.h"
#include "ucx/frame.h"
#include "ucx_lane_fixture.h"
#include "victims.h"

namespace orchid::transport {

using namespace tests;

TEST_CASE("noise at the door does not keep the right client out") {
  Child worker = Child::start_worker(serve_asleep);
  const int port = port_of(worker);
  CHECK(listening_ports(worker.pid()) == std::vector{port});  // UCX does not listen yet
  Child other_worker = Child::start_worker(serve_asleep);
  Child other_client = Child::start_client(call_for_ever, other_worker);
  REQUIRE(goes_on(other_client));
  const auto silent = silent_connections(port, 1000);
  for (unsigned i = 0; i < 50; ++i) {
    const auto noise = silent_connections(port, 1);
    const auto garbage = pattern(1 + i * 37, i);
    ::send(noise[0].get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
  CHECK(say_hello(port, lane_version, random_key()).empty());           // wrong key
  CHECK(say_hello(port, lane_version - 1, random_key()).empty());       // old version, wrong key
  CHECK(say_hello(port, lane_version - 1, worker.key()).size() == 32);  // old version
  CHECK(goes_on(other_client));
  CHECK_FALSE(orchid::tests::put_by_force(port, reinterpret_cast<std::uint64_t>(canary.data())));
  CHECK(canary_of(worker.pid()) == unhurt);
  UcxLaneClient client = worker.connect();
  check_lane(client);
  CHECK(goes_on(other_client));
  CHECK(other_worker.is_running());
}

/// Nothing listens where they went.
TEST_CASE("puts and forged messages of all kinds reach no worker that serves") {
  Child worker = Child::start_worker(serve_asleep);
  const int door = port_of(worker);
  SlowRelay relay(door);
  auto connecting = std::async(std::launch::async, [&] { return worker.connect(relay.address()); });
  const int ucx = ucx_port_of(worker.pid(), door);
  REQUIRE(ucx != 0);
  relay.let_go();
  UcxLaneClient client = connecting.get();
  const auto words = forged_words();
  using orchid::tests::first_message, orchid::tests::last_message;
  for (const int port : {door, ucx}) {
    CHECK_FALSE(orchid::tests::put_by_force(port, reinterpret_cast<std::uint64_t>(canary.data())));
    for (unsigned number = first_message; number <= last_message; ++number)
      CHECK_FALSE(orchid::tests::send_by_force(port, number, words));
  }
  CHECK(canary_of(worker.pid()) == unhurt);
  check_lane(client);
}

}  // namespace orchid::transport
