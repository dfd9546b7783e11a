// A member at another executor that has the right key and means ill: what it sends to another
// member through UCX.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "crew/crew_rooms.h"
#include "raw_peer.h"
#include "transport/crew_end.h"
#include "ucx/crew_mesh.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;
using orchid::tests::RawPeer;

constexpr std::uint32_t hostile = 1;
constexpr std::uint32_t itself = 2;
constexpr std::uint32_t third = 3;

/// Member 2 of 3, whose peers are all elsewhere.
struct VictimOfCrew {
  std::array<ConnectionKey, 4> keys{random_key(), random_key(), random_key(), random_key()};
  UcxCrewMesh* mesh = nullptr;
  std::vector<std::byte> address;
  std::unique_ptr<CrewEnd> end;

  VictimOfCrew() {
    CrewMesh::Options options{.member = itself, .peers = {}, .deadline = in(10s)};
    for (const std::uint32_t peer : {crew::client_member, hostile, third})
      options.peers.push_back({.member = peer, .key = keys[peer], .address = {}});
    auto made = UcxCrewMesh::open(context(), options).value();
    mesh = made.get();
    address = mesh->address().value();
    end = std::make_unique<CrewEnd>(
        CrewEnd::attach_near({.member = itself, .members = third}, {}, -1).value());
    REQUIRE(end->join(std::move(made)).has_value());
  }
  /// Messages stay where they are.
  void work() { (void)mesh->progress(); }
};

struct RawMessage {
  MeshFrame frame;
  std::vector<std::byte> bytes = std::vector<std::byte>(8);
};

/// Of a call, right in every respect.
RawMessage good_call(const VictimOfCrew& victim, std::uint32_t from = hostile) {
  RawMessage message;
  MeshFrame& frame = message.frame;
  frame.key = victim.keys[from];
  frame.kind = MeshFrameKind::message;
  frame.from = static_cast<std::uint8_t>(from);
  frame.size = 8;
  frame.header.request_id = 256;
  frame.header.payload_length = 8;
  frame.header.payload_offset = 8;
  frame.header.kind = 1;
  frame.header.version = call_header_version;
  frame.header.sequence = 2;
  return message;
}
RawMessage good_ready(const VictimOfCrew& victim, std::uint32_t from = hostile) {
  RawMessage message = good_call(victim, from);
  message.frame.kind = MeshFrameKind::ready;
  message.frame.size = 0;
  message.frame.header.sequence = 1;
  message.bytes.clear();
  return message;
}

std::vector<std::byte> raw(const RawMessage& message) {
  std::vector<std::byte> bytes(sizeof(MeshFrame) + message.bytes.size());
  std::memcpy(bytes.data(), &message.frame, sizeof(MeshFrame));
  std::ranges::copy(message.bytes, bytes.begin() + sizeof(MeshFrame));
  return bytes;
}
void send(RawPeer& peer, VictimOfCrew& victim, const RawMessage& message) {
  const auto bytes = raw(message);
  peer.send({.data = bytes}, [&] { victim.work(); });
}

/// Lets both work until the victim has a message, or somebody is to blame.
Result<std::optional<CrewMessage>> next_of(VictimOfCrew& victim, RawPeer& peer) {
  for (const auto end = in(10s); std::chrono::steady_clock::now() < end;) {
    peer.progress();
    auto message = victim.end->receive();
    if (!message || *message) return message;
  }
  return std::nullopt;
}

void set_size(RawMessage& message, std::size_t size) {
  message.bytes.resize(size);
  message.frame.size = static_cast<std::uint32_t>(size);
}
/// With a log of so many bytes, of which the prefix says so many.
void set_log(RawMessage& message, std::size_t bytes, std::uint64_t said) {
  CrewLogPrefix prefix{.dropped = 0, .length = said};
  set_size(message, 8 + bytes);
  std::memcpy(&message.bytes[8], &prefix, std::min(bytes, sizeof(prefix)));
  message.frame.header.flags = flag_log;
  message.frame.header.payload_offset = 8 + bytes;
}

struct AttackOnCrew {
  const char* what;
  void (*spoil)(RawMessage&);
};
constexpr std::uint64_t most = crew::payload_size.value;
const std::array attacks_on_crew{
    AttackOnCrew{"a size that is not the payload's", [](RawMessage& m) { m.frame.size = 9; }},
    AttackOnCrew{"a frame is left out", [](RawMessage& m) { m.frame.header.sequence = 3; }},
    AttackOnCrew{"a frame comes twice", [](RawMessage& m) { m.frame.header.sequence = 1; }},
    AttackOnCrew{"ready for the second time",
                 [](RawMessage& m) { m.frame.kind = MeshFrameKind::ready; }},
    AttackOnCrew{"an unknown kind",
                 [](RawMessage& m) { m.frame.kind = static_cast<MeshFrameKind>(99); }},
    AttackOnCrew{"no kind", [](RawMessage& m) { m.frame.kind = MeshFrameKind{}; }},
    AttackOnCrew{"the rest of nothing", [](RawMessage& m) { m.frame.kind = MeshFrameKind::more; }},
    AttackOnCrew{"a call without a number", [](RawMessage& m) { m.frame.header.request_id = 0; }},
    AttackOnCrew{"an unknown version", [](RawMessage& m) { m.frame.header.version = 77; }},
    AttackOnCrew{"unknown flags", [](RawMessage& m) { m.frame.header.flags = 0x8000; }},
    AttackOnCrew{"more than a message may have",
                 [](RawMessage& m) {
                   m.frame.header.payload_length = most + 1;
                   m.frame.header.payload_offset = most + 1;
                 }},
    AttackOnCrew{"all the memory there is",
                 [](RawMessage& m) {
                   m.frame.header.payload_length = ~std::uint64_t{0};
                   m.frame.header.payload_offset = ~std::uint64_t{0};
                 }},
    AttackOnCrew{"a payload without an end",
                 [](RawMessage& m) { m.frame.header.payload_offset = ~std::uint64_t{0}; }},
    AttackOnCrew{"less in all than its payload",
                 [](RawMessage& m) { m.frame.header.payload_offset = 4; }},
    AttackOnCrew{"more bytes than were announced",
                 [](RawMessage& m) {
                   m.frame.header.payload_length = 4;
                   m.frame.header.payload_offset = 4;
                 }},
    AttackOnCrew{"an announced payload without a byte", [](RawMessage& m) { set_size(m, 0); }},
    AttackOnCrew{"a log that nothing says is there",
                 [](RawMessage& m) {
                   set_log(m, 32, 16);
                   m.frame.header.flags = 0;
                 }},
    AttackOnCrew{"a log that is not there", [](RawMessage& m) { m.frame.header.flags = flag_log; }},
    AttackOnCrew{"a log without its length", [](RawMessage& m) { set_log(m, 15, 0); }},
    AttackOnCrew{"a log of more than a call may have",
                 [](RawMessage& m) {
                   set_log(m, sizeof(CrewLogPrefix) + crew::log_size.value + 1,
                           crew::log_size.value + 1);
                 }},
    AttackOnCrew{"a log that says that it is longer than it is",
                 [](RawMessage& m) { set_log(m, 32, crew::log_size.value + 1); }},
    AttackOnCrew{"a log that says that it has no end",
                 [](RawMessage& m) { set_log(m, 32, ~std::uint64_t{0}); }},
    AttackOnCrew{"a child with a number that no loan has",
                 [](RawMessage& m) {
                   m.frame.header.kind = static_cast<std::uint8_t>(crew::MessageKind::child);
                   m.frame.header.held_answers = crew::loans;
                 }},
    AttackOnCrew{"the end of a child with the highest number",
                 [](RawMessage& m) {
                   m.frame.header.kind = static_cast<std::uint8_t>(crew::MessageKind::child_end);
                   m.frame.header.held_answers = 255;
                 }},
};

void check_blame(const Result<std::optional<CrewMessage>>& end) {
  REQUIRE_FALSE(end.has_value());
  CHECK(end.error().code == ErrorCode::bad_request);
  CHECK(end.error().message.find("member 1 wrote nonsense into its crew") != std::string::npos);
}

}  // namespace

TEST_CASE(
    "a member elsewhere that sends nonsense ends its crew by name, and reaches nothing else") {
  for (const AttackOnCrew& attack : attacks_on_crew) {
    CAPTURE(attack.what);
    VictimOfCrew victim;
    VictimOfCrew beside;  // of another crew
    RawPeer peer;
    peer.connect(victim.address);
    send(peer, victim, good_ready(victim));
    RawMessage spoiled = good_call(victim);
    attack.spoil(spoiled);
    send(peer, victim, spoiled);
    check_blame(next_of(victim, peer));
    CHECK_FALSE(victim.end->ready());
    RawPeer other;
    other.connect(beside.address);
    send(other, beside, good_ready(beside));
    send(other, beside, good_call(beside));
    const auto call = next_of(beside, other);
    CHECK((call.has_value() && call->has_value()));
  }
}

TEST_CASE("the client lends nothing and is never hungry, and who says so in its name is to blame") {
  for (const bool hungry : {true, false}) {
    CAPTURE(hungry);
    VictimOfCrew victim;
    RawPeer peer;
    peer.connect(victim.address);
    send(peer, victim, good_ready(victim, crew::client_member));
    RawMessage message = good_call(victim, crew::client_member);
    if (hungry) {
      message.frame.kind = MeshFrameKind::hungry;
      set_size(message, 0);
    } else {
      message.frame.header.kind = static_cast<std::uint8_t>(crew::MessageKind::child);
    }
    send(peer, victim, message);
    const auto end = next_of(victim, peer);
    REQUIRE_FALSE(end.has_value());
    CHECK(end.error().message.find("member 0 wrote nonsense") != std::string::npos);
    CHECK(victim.end->prepare_to_sleep());  // what is wrong stays there, and wakes nobody
  }
}

TEST_CASE("a message that another one begins in the middle of ends the crew") {
  VictimOfCrew victim;
  RawPeer peer;
  peer.connect(victim.address);
  send(peer, victim, good_ready(victim));
  RawMessage begun = good_call(victim);
  begun.frame.header.payload_length = begun.frame.header.payload_offset = 5000;
  send(peer, victim, begun);
  RawMessage next = good_call(victim);
  next.frame.header.sequence = 3;
  send(peer, victim, next);
  check_blame(next_of(victim, peer));
}

TEST_CASE("a member that sends more than its window ends the crew, and no memory is lost") {
  VictimOfCrew victim;
  RawPeer peer;
  peer.connect(victim.address);
  send(peer, victim, good_ready(victim));
  RawMessage message = good_call(victim);
  for (std::uint32_t i = 0; i <= crew::ring_entries; ++i) {
    message.frame.header.sequence = 2 + i;
    message.frame.header.request_id = 256 + i;
    send(peer, victim, message);
  }
  for (const auto end = in(10s); !victim.mesh->failure();) {
    peer.progress();
    victim.work();
    REQUIRE(std::chrono::steady_clock::now() < end);
  }
  CHECK(victim.mesh->failure()->message.find("more than its window") != std::string::npos);
  // What has come before that is read in order.
  std::uint32_t read = 0;
  auto taken = next_of(victim, peer);
  for (; taken && *taken; taken = next_of(victim, peer)) {
    CHECK((*taken)->header.request_id == 256 + read);
    victim.end->done();
    ++read;
  }
  CHECK(read == crew::ring_entries);
  check_blame(taken);
}

TEST_CASE("what is no frame of a peer's is ignored, and the call after it arrives") {
  VictimOfCrew victim;
  RawPeer peer;
  peer.connect(victim.address);
  const auto work = [&] { victim.work(); };
  send(peer, victim, good_ready(victim));
  const auto good = raw(good_call(victim));
  const std::vector<std::byte> large(300'000, std::byte{1});
  const auto changed = [&](auto change) {
    RawMessage message = good_call(victim);
    change(message.frame);
    return raw(message);
  };
  const std::vector<std::vector<std::byte>> foreign{
      changed([](MeshFrame& f) { f.key[15] ^= std::byte{1}; }),
      changed([](MeshFrame& f) { f.key = {}; }),
      changed([](MeshFrame& f) { f.from = third; }),  // whose key it does not have
      changed([](MeshFrame& f) { f.from = itself; }),
      changed([](MeshFrame& f) { f.from = 4; }),
      changed([](MeshFrame& f) { f.from = 65; }),
      changed([](MeshFrame& f) { f.from = 255; }),
      changed([&](MeshFrame& f) {  // of a member that is none, with the key that it would have
        f.from = itself;
        f.key = {};
      })};
  for (int round = 0; round < 20; ++round) {
    for (const auto& words : foreign) peer.send({.data = words}, work);
    peer.send({.data = {}}, work);
    peer.send({.data = std::span(good).first(sizeof(MeshFrame) - 1)}, work);
    peer.send({.header = std::span(good).first(50), .data = good}, work);
    peer.send({.header = good, .data = good}, work);
    peer.send({.id = 2, .data = good}, work);
    peer.send({.id = 40'000, .data = good}, work);
    peer.send({.data = large, .flags = UCP_AM_SEND_FLAG_RNDV}, work);
    peer.send({.header = std::span(good).first(sizeof(MeshFrame)),
               .data = large,
               .flags = UCP_AM_SEND_FLAG_RNDV},
              work);
  }
  peer.send({.data = good}, work);
  const auto call = next_of(victim, peer);
  REQUIRE_MESSAGE(call.has_value(), call.error().message);
  REQUIRE(call->has_value());
  CHECK((*call)->from == hostile);
  CHECK((*call)->payload.size() == 8);
}

TEST_CASE("calls that are cancelled for ever, and members hungry for ever, cost no memory") {
  VictimOfCrew victim;
  RawPeer peer;
  peer.connect(victim.address);
  send(peer, victim, good_ready(victim));
  RawMessage message = good_call(victim);
  set_size(message, 0);
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    message.frame.kind = i % 2 == 0 ? MeshFrameKind::cancelled : MeshFrameKind::hungry;
    message.frame.header.sequence = 2 + i;
    message.frame.header.request_id = i * 0x9e3779b97f4a7c15ULL;
    send(peer, victim, message);
  }
  RawMessage last = good_call(victim);
  last.frame.header.sequence = 5'002;
  last.frame.header.request_id = 1ULL << 40;
  send(peer, victim, last);
  const auto call = next_of(victim, peer);
  REQUIRE_MESSAGE(call.has_value(), call.error().message);
  REQUIRE(call->has_value());
  CHECK(victim.end->claim_hungry(hostile));
  CHECK_FALSE(victim.end->claim_hungry(hostile));
}

}  // namespace orchid::transport
