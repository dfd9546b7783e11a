// A stranger at the ports of a process that serves leased memory, and of those that send an object
// or take one: before and while the one peer with the key is there.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "transport/ucx_memory.h"
#include "transport/ucx_transfer.h"
#include "uct_stranger.h"
#include "ucx/frame.h"
#include "ucx_lane_fixture.h"
#include "victims.h"

namespace orchid::transport {

using namespace tests;

namespace {

constexpr std::size_t size = 3 * memory_part + 17;

void report(const Child::Job& job, const std::string& address) {
  if (::send(job.report, address.data(), address.size(), 0) < 0) ::_exit(1);
}

/// The life of a process that serves a memory of that size.
void serve_memory(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  auto listener = UcxMemoryListener::listen(
                      own, {.address = "127.0.0.1", .key = job.key, .bytes = ByteCount{size}})
                      .value();
  report(job, listener.address());
  auto server = listener.accept(in(30s));
  if (!server) return;
  std::vector<std::byte> memory(size);
  (void)server->serve(memory, {});
}

/// Of one that sends an object of that size.
void send_object(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  auto listener = UcxTransferListener::listen(
                      own, {.address = "127.0.0.1", .key = job.key, .bytes = ByteCount{size}})
                      .value();
  report(job, listener.address());
  auto sender = listener.accept(in(30s));
  if (!sender) return;
  const auto object = pattern(size, 5);
  (void)sender->serve(object, {.deadline = in(60s), .patience = 60s});
}

/// Of one that takes it.
void take_object(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  auto listener = UcxTransferListener::listen(
                      own, {.address = "127.0.0.1", .key = job.key, .bytes = ByteCount{size}})
                      .value();
  report(job, listener.address());
  auto receiver = listener.accept_sender(in(30s));
  if (!receiver) return;
  std::vector<std::byte> room(size);
  std::uint64_t have = 0;
  (void)receiver->receive(room, have, {.deadline = in(60s), .patience = 60s});
}

/// The one peer of such a process.
struct MemoryPeer {
  UcxMemoryClient client;

  static MemoryPeer connect(const Child& server, const std::string& address) {
    return {UcxMemoryClient::connect(context(), {.address = address,
                                                 .key = server.key(),
                                                 .bytes = ByteCount{size},
                                                 .deadline = in(20s)})
                .value()};
  }
  void finish(const UcxMemoryClient::Request& request) {
    const auto number = client.begin(request);
    REQUIRE(number.has_value());
    for (const auto end = in(20s); client.finished() < *number; client.progress())
      REQUIRE(std::chrono::steady_clock::now() < end);
  }
  /// What is put is what is read.
  void check() {
    const auto source = pattern(memory_part, 7);
    std::vector<std::byte> target(memory_part);
    const MemoryRows rows{.offset = size - memory_part, .row = memory_part};
    finish({.op = MemoryOp::put, .rows = rows, .source = source});
    finish({.op = MemoryOp::get, .rows = rows, .target = target});
    CHECK(same(source, target));
  }
};

struct ObjectPeer {
  UcxTransferReceiver receiver;

  static ObjectPeer connect(const Child& server, const std::string& address) {
    return {UcxTransferReceiver::connect(context(), {.address = address,
                                                     .key = server.key(),
                                                     .bytes = ByteCount{size},
                                                     .deadline = in(20s)})
                .value()};
  }
  /// The object comes as it is.
  void check() {
    std::vector<std::byte> room(size);
    std::uint64_t have = 0;
    CHECK(receiver.receive(room, have, {.deadline = in(30s)}).has_value());
    CHECK(have == size);
    CHECK(same(room, pattern(size, 5)));
  }
};

struct PushPeer {
  UcxTransferSender sender;

  static PushPeer connect(const Child& server, const std::string& address) {
    return {UcxTransferSender::connect(context(), {.address = address,
                                                   .key = server.key(),
                                                   .bytes = ByteCount{size},
                                                   .deadline = in(20s)})
                .value()};
  }
  /// All of it is taken.
  void check() {
    const auto object = pattern(size, 5);
    CHECK(sender.serve(object, {.deadline = in(30s)}).has_value());
  }
};

template <typename Peer>
void attack_the_door(Child::Life life) {
  Child server = Child::start_worker(life);
  const int port = port_of(server);
  CHECK(listening_ports(server.pid()) == std::vector{port});  // UCX does not listen yet
  const auto silent = silent_connections(port, 500);
  for (unsigned i = 0; i < 20; ++i) {
    const auto noise = silent_connections(port, 1);
    const auto garbage = pattern(1 + i * 37, i);
    ::send(noise[0].get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
  CHECK(say_hello(port, lane_version, random_key()).empty());
  CHECK_FALSE(orchid::tests::put_by_force(port, reinterpret_cast<std::uint64_t>(canary.data())));
  CHECK(canary_of(server.pid()) == unhurt);
  Peer::connect(server, server.address()).check();
}

/// Nothing listens where they went.
template <typename Peer>
void attack_while_it_serves(Child::Life life) {
  Child server = Child::start_worker(life);
  const int door = port_of(server);
  SlowRelay relay(door);
  auto connecting =
      std::async(std::launch::async, [&] { return Peer::connect(server, relay.address()); });
  const int ucx = ucx_port_of(server.pid(), door);
  REQUIRE(ucx != 0);
  relay.let_go();
  Peer peer = connecting.get();
  const auto words = forged_words();
  using orchid::tests::first_message, orchid::tests::last_message;
  for (const int port : {door, ucx}) {
    CHECK_FALSE(orchid::tests::put_by_force(port, reinterpret_cast<std::uint64_t>(canary.data())));
    for (unsigned number = first_message; number <= last_message; ++number)
      CHECK_FALSE(orchid::tests::send_by_force(port, number, words));
  }
  CHECK(canary_of(server.pid()) == unhurt);
  peer.check();
}

}  // namespace

TEST_CASE("noise at the door of leased memory, or of a copy, keeps nobody out who has the key") {
  attack_the_door<MemoryPeer>(serve_memory);
  attack_the_door<ObjectPeer>(send_object);
  attack_the_door<PushPeer>(take_object);
}

TEST_CASE("puts and forged messages reach nobody who serves memory, or sends or takes an object") {
  attack_while_it_serves<MemoryPeer>(serve_memory);
  attack_while_it_serves<ObjectPeer>(send_object);
  attack_while_it_serves<PushPeer>(take_object);
}

}  // namespace orchid::transport
