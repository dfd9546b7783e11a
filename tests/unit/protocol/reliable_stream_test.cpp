#include "protocol/reliable_stream.h"

#include <doctest/doctest.h>

#include <deque>
#include <random>
#include <vector>

namespace orchid {
namespace {

ControlMessage message(std::uint64_t number) { return CloseLease{{1, number}}; }
std::uint64_t number_of(const ControlFrame& frame) {
  return std::get<CloseLease>(std::get<ControlMessage>(frame.body)).lease.number;
}

TEST_CASE("messages are numbered from 1 and kept until they are acknowledged") {
  ReliableStream stream("s");
  CHECK(stream.add(message(10))->sequence == 1);
  CHECK(stream.add(message(11))->sequence == 2);
  CHECK(stream.unacknowledged() == 2);
  CHECK(stream.receive(0, 1) == ReliableStream::Arrival::duplicate);
  CHECK(stream.unacknowledged() == 1);
  CHECK(stream.receive(1, 2) == ReliableStream::Arrival::fresh);
  CHECK(stream.unacknowledged() == 0);
  CHECK(stream.add(message(12))->ack == 1);
}

TEST_CASE(
    "a repeated frame is a duplicate, a gap or a false acknowledgement breaks the connection") {
  ReliableStream stream("s");
  CHECK(stream.receive(1, 0) == ReliableStream::Arrival::fresh);
  CHECK(stream.receive(1, 0) == ReliableStream::Arrival::duplicate);
  CHECK(stream.receive(3, 0) == ReliableStream::Arrival::broken);
  CHECK(stream.received() == 1);
  CHECK(stream.receive(2, 1) == ReliableStream::Arrival::broken);
  CHECK(stream.receive(2, 0) == ReliableStream::Arrival::fresh);
}

TEST_CASE("an outbox that is full refuses, and loses nothing") {
  ReliableStream stream("s", 2);
  REQUIRE(stream.add(message(1)));
  REQUIRE(stream.add(message(2)));
  CHECK(stream.add(message(3)).error().code == ErrorCode::no_capacity);
  CHECK(stream.unacknowledged() == 2);
  CHECK(stream.receive(0, 1) == ReliableStream::Arrival::duplicate);
  CHECK(stream.add(message(3))->sequence == 3);
}

TEST_CASE("a stream goes on only where nothing that the peer lacks was forgotten") {
  ReliableStream stream("s");
  for (std::uint64_t i = 1; i <= 4; ++i) REQUIRE(stream.add(message(i)));
  static_cast<void>(stream.receive(0, 2));
  CHECK_FALSE(stream.can_resume(1));
  CHECK(stream.can_resume(2));
  CHECK(stream.can_resume(4));
  CHECK_FALSE(stream.can_resume(5));
  const auto frames = stream.resume(3);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].sequence == 4);
  CHECK(number_of(frames[0]) == 4);
  stream.restart("t");
  CHECK(stream.id() == "t");
  CHECK(stream.unacknowledged() == 0);
  CHECK(stream.add(message(9))->sequence == 1);
}

/// Two sides and the frames on their way. A broken connection loses what is on its way; what a side
/// got before that stays got.
struct TwoSides {
  ReliableStream side[2] = {ReliableStream("s"), ReliableStream("s")};
  std::deque<ControlFrame> towards[2];
  std::vector<std::uint64_t> sent[2];
  std::vector<std::uint64_t> got[2];
  std::uint64_t next = 1;

  void send(int from) {
    sent[from].push_back(next);
    auto frame = side[from].add(message(next++));
    REQUIRE(frame);
    towards[1 - from].push_back(*frame);
  }
  void send_ack(int from) {
    towards[1 - from].push_back({.ack = side[from].received(), .body = ControlAck{}});
  }
  void deliver(int to) {
    if (towards[to].empty()) return;
    const ControlFrame frame = towards[to].front();
    towards[to].pop_front();
    const auto arrival = side[to].receive(frame.sequence, frame.ack);
    CHECK(arrival != ReliableStream::Arrival::broken);
    if (arrival == ReliableStream::Arrival::fresh) got[to].push_back(number_of(frame));
  }
  void reconnect() {
    const std::uint64_t ack[2] = {side[0].received(), side[1].received()};
    for (int i : {0, 1}) {
      towards[i].clear();
      REQUIRE(side[1 - i].can_resume(ack[i]));
      for (const ControlFrame& frame : side[1 - i].resume(ack[i])) towards[i].push_back(frame);
    }
  }
  void restart(std::mt19937& random) {
    const std::string id = "s" + std::to_string(random());
    for (int i : {0, 1}) {
      side[i].restart(id);
      towards[i].clear();
      sent[i].clear();
      got[i].clear();
    }
  }
};

TEST_CASE("each message arrives once and in order, whenever connections break or a side restarts") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    TwoSides world;
    for (int step = 0; step < 200; ++step) {
      const int who = static_cast<int>(random() % 2);
      const unsigned what = random() % 100;
      if (what < 40)
        world.send(who);
      else if (what < 85)
        world.deliver(who);
      else if (what < 92)
        world.send_ack(who);
      else if (what < 99)
        world.reconnect();
      else
        world.restart(random);
    }
    world.reconnect();
    for (int i : {0, 1})
      while (!world.towards[i].empty()) world.deliver(i);
    REQUIRE(world.got[0] == world.sent[1]);
    REQUIRE(world.got[1] == world.sent[0]);
    for (int i : {0, 1}) world.send_ack(i);
    for (int i : {0, 1}) world.deliver(i);
    CHECK(world.side[0].unacknowledged() == 0);
    CHECK(world.side[1].unacknowledged() == 0);
  }
}

}  // namespace
}  // namespace orchid
