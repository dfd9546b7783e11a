// What may come in through UCX itself: from a stranger who finds its port while a lane is made, and
// from a peer that has the right key and means ill.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "raw_peer.h"
#include "ucx/ends.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;
using orchid::tests::RawPeer;

constexpr std::size_t slab_size = 1 << 20;

/// A worker's end with its doors open, as it is for some milliseconds.
struct Victim {
  ConnectionKey key = random_key();
  std::vector<std::byte> address;
  std::unique_ptr<UcxLaneWorker> worker;

  Victim() {
    auto link = UcxLink::create(context(), key).value();
    address = link->address();
    worker = std::make_unique<UcxLaneWorker>(std::make_unique<UcxLaneWorker::State>(
        Slab::map(slab_size).value(), Slab::map(slab_size).value(), std::move(link)));
  }
  /// Calls and failures stay where they are.
  void work() { (void)worker->ready(); }
};

/// Of a first call, right in every respect.
Frame good_frame(const Victim& victim) {
  Frame frame{.key = victim.key, .kind = FrameKind::first, .size = 8};
  frame.header.request_id = 1;
  frame.header.payload_length = 8;
  frame.header.payload_offset = inline_payload;
  frame.header.kind = 1;
  frame.header.version = call_header_version;
  frame.header.sequence = 2;
  return frame;
}

Frame ready_frame(const Victim& victim) {
  Frame frame{.key = victim.key};
  frame.header.version = call_header_version;
  frame.header.sequence = 1;
  return frame;
}

std::vector<std::byte> bytes_of(const Frame& frame, std::span<const std::byte> payload = {}) {
  std::vector<std::byte> bytes(sizeof(Frame) + payload.size());
  std::memcpy(bytes.data(), &frame, sizeof(Frame));
  if (!payload.empty()) std::memcpy(&bytes[sizeof(Frame)], payload.data(), payload.size());
  return bytes;
}

/// Lets both work until the victim has a call, has failed, or the time is over.
Result<std::optional<LaneRequest>> outcome(Victim& victim, RawPeer& peer,
                                           std::chrono::milliseconds patience) {
  for (const auto end = in(patience); std::chrono::steady_clock::now() < end;) {
    peer.progress();
    auto request = victim.worker->receive();
    if (!request || *request) return request;
  }
  return std::nullopt;
}

struct Attack {
  const char* what;
  void (*spoil)(Frame&);
  std::size_t payload = 8;  // bytes that are sent
};
constexpr std::array attacks{
    Attack{"a size that is not the payload's", [](Frame& f) { f.size = 9; }},
    Attack{"an older version", [](Frame& f) { f.header.version = 0; }},
    Attack{"a newer version", [](Frame& f) { f.header.version = 2; }},
    Attack{"a frame is left out", [](Frame& f) { f.header.sequence = 3; }},
    Attack{"a frame comes twice", [](Frame& f) { f.header.sequence = 1; }},
    Attack{"ready for the second time", [](Frame& f) { f.kind = FrameKind::ready; }},
    Attack{"an unknown kind", [](Frame& f) { f.kind = static_cast<FrameKind>(99); }},
    Attack{"the rest of nothing", [](Frame& f) { f.kind = FrameKind::more; }},
    Attack{"a first piece from the middle", [](Frame& f) { f.position = 1; }},
    Attack{"another request id", [](Frame& f) { f.header.request_id = 7; }},
    Attack{"more than the slab", [](Frame& f) { f.header.payload_length = slab_size + 1; }},
    Attack{"all the memory there is",
           [](Frame& f) { f.header.payload_length = ~std::uint64_t{0}; }},
    Attack{"too much for inline", [](Frame& f) { f.header.payload_length = f.size = 65; }, 65},
    Attack{"over the slab's end", [](Frame& f) { f.header.payload_offset = slab_size - 4; }},
    Attack{"beyond the slab", [](Frame& f) { f.header.payload_offset = 1ULL << 46; }},
    Attack{"an offset that overflows",
           [](Frame& f) { f.header.payload_offset = ~std::uint64_t{7}; }},
    Attack{"more bytes than were announced", [](Frame& f) { f.header.payload_length = 4; }},
    Attack{"an announced payload without a byte",
           [](Frame& f) {
             f.size = 0;
             f.header.payload_offset = 0;
           },
           0},
    Attack{"a release of what was not answered", [](Frame& f) { f.released = 1; }},
    Attack{"an endless log",
           [](Frame& f) {
             f.header.flags = flag_log;
             f.header.origin = 1ULL << 40;
           }},
};

const std::array<std::byte, 128> payload{};

}  // namespace

TEST_CASE(
    "a peer with the right key that sends nonsense loses the lane, and reaches nothing else") {
  for (const Attack& attack : attacks) {
    CAPTURE(attack.what);
    Victim victim;
    RawPeer peer;
    peer.connect(victim.address);
    Frame frame = good_frame(victim);
    attack.spoil(frame);
    const auto ready = bytes_of(ready_frame(victim));
    const auto spoiled = bytes_of(frame, std::span(payload).first(attack.payload));
    peer.send({.data = ready}, [&] { victim.work(); });
    peer.send({.data = spoiled}, [&] { victim.work(); });
    const auto end = outcome(victim, peer, 10s);
    REQUIRE_FALSE(end.has_value());
    CHECK(end.error().code == ErrorCode::bad_request);
    CHECK(end.error().message.find("nonsense") != std::string::npos);
  }
}

TEST_CASE("what is no frame of the peer's is ignored, and the call after it arrives") {
  Victim victim;
  RawPeer peer;
  peer.connect(victim.address);
  const auto work = [&] { victim.work(); };
  const auto ready = bytes_of(ready_frame(victim));
  peer.send({.data = ready}, work);
  Frame foreign = good_frame(victim);
  foreign.key[15] ^= std::byte{1};
  const auto with_wrong_key = bytes_of(foreign, std::span(payload).first(8));
  const std::vector<std::byte> large(300'000, std::byte{1});
  const auto good = bytes_of(good_frame(victim), std::span(payload).first(8));
  for (int round = 0; round < 20; ++round) {
    peer.send({.data = with_wrong_key}, work);
    peer.send({.header = std::span(with_wrong_key).first(sizeof(Frame)), .data = large}, work);
    peer.send({.data = {}}, work);
    peer.send({.data = std::span(good).first(sizeof(Frame) - 1)}, work);
    peer.send({.header = std::span(good).first(50), .data = good}, work);
    peer.send({.header = good, .data = good}, work);
    peer.send({.id = 2, .data = good}, work);
    peer.send({.id = 40'000, .data = good}, work);
    // An offer to fetch from an address of the peer's, with its key: not even with ours is it
    // taken.
    peer.send({.data = large, .flags = UCP_AM_SEND_FLAG_RNDV}, work);
    peer.send({.header = std::span(good).first(sizeof(Frame)),
               .data = large,
               .flags = UCP_AM_SEND_FLAG_RNDV},
              work);
  }
  peer.send({.data = good}, work);
  const auto call = outcome(victim, peer, 10s);
  REQUIRE_MESSAGE(call.has_value(), call.error().message);
  REQUIRE(call->has_value());
  CHECK((*call)->input.size() == 8);
}

TEST_CASE("a put or get through UCP, with a key of the stranger's own making, reaches no memory") {
  const std::string text(32, 'A');
  const auto bytes = std::as_bytes(std::span(text));
  std::array<char, 64> canary{"untouched"};
  const auto address = reinterpret_cast<std::uint64_t>(canary.data());
  std::array<std::byte, 32> stolen{};
  {
    Victim victim;
    RawPeer peer;
    peer.connect(victim.address);
    peer.put(bytes, address, [&] { victim.work(); });
    peer.get(stolen, address, [&] { victim.work(); });
    CHECK(std::string(canary.data()) == "untouched");
    CHECK(stolen == std::array<std::byte, 32>{});
    // It goes on.
    const auto ready = bytes_of(ready_frame(victim));
    const auto good = bytes_of(good_frame(victim), std::span(payload).first(8));
    peer.send({.data = ready}, [&] { victim.work(); });
    peer.send({.data = good}, [&] { victim.work(); });
    const auto call = outcome(victim, peer, 10s);
    CHECK((call.has_value() && call->has_value()));
  }
  // The same against a process with UCP_FEATURE_RMA, which is why none of ours has it.
  RawPeer open;
  RawPeer peer;
  peer.connect(open.address());
  peer.put(bytes, address, [&] { open.progress(); });
  CHECK(std::string(canary.data()) == text);
  peer.get(stolen, address, [&] { open.progress(); });
  CHECK(std::ranges::equal(stolen, bytes));
}

}  // namespace orchid::transport
