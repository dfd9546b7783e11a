// A crew whose members are all at executors of their own: processes that are wired by UCX, over
// TCP.
#include "transport/crew_mesh.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "foundation/sockets.h"
#include "foundation/tcp.h"
#include "transport/crew_end.h"

namespace orchid::transport {
namespace {

using std::chrono::seconds;

constexpr std::array<std::byte, 32> secret{std::byte{7}, std::byte{9}};
LaneDeadline in(seconds time) { return std::chrono::steady_clock::now() + time; }

/// In a member's process: what is not so ends it, and its parent sees that.
void need(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "member process: %s\n", what);
  ::_exit(1);
}

struct Ports {
  std::array<int, 8> of{};
};

CrewEnd wire(std::uint32_t member, std::uint32_t members, int parent) {
  auto context = UcxContext::create({.transports = "tcp,self", .address = "127.0.0.1"});
  need(context.has_value(), "no UCX");
  auto* kept = new UcxContext(std::move(*context));
  auto door = CrewDoor::listen("127.0.0.1");
  need(door.has_value(), "no door");
  const int port = door->port();
  need(::write(parent, &port, sizeof(port)) == sizeof(port), "tell the port");
  Ports ports;
  need(::read(parent, &ports, sizeof(ports)) == sizeof(ports), "hear the ports");
  CrewMesh::Options options{.member = member, .peers = {}, .deadline = in(seconds(20))};
  for (std::uint32_t peer = 0; peer <= members; ++peer)
    if (peer != member)
      options.peers.push_back({.member = peer,
                               .key = *crew_pair_key(secret, member, peer),
                               .address = "127.0.0.1:" + std::to_string(ports.of[peer])});
  auto mesh = CrewMesh::wire(*kept, &*door, options);
  if (!mesh) std::fprintf(stderr, "%u: %s\n", member, mesh.error().message.c_str());
  need(mesh.has_value(), "not wired");
  auto end = CrewEnd::attach_near({.member = member, .members = members}, {}, -1);
  need(end.has_value() && end->join(std::move(*mesh)), "no end");
  return std::move(*end);
}

/// Sleeps until there is a message, or gives up.
CrewMessage take(CrewEnd& end) {
  const auto deadline = in(seconds(20));
  for (;;) {
    auto message = end.receive();
    need(message.has_value(), "a message was refused");
    if (*message) return **message;
    need(std::chrono::steady_clock::now() < deadline, "no message came");
    if (!end.prepare_to_sleep()) continue;
    pollfd wait{.fd = end.wake_descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, 1000);
    end.finish_sleep();
  }
}

struct Party {
  struct Member {
    pid_t pid = -1;
    UniqueFd socket;
  };
  std::vector<Member> members;  // the client first
  Ports ports;

  using Life = std::function<void(CrewEnd& end)>;
  Party(std::uint32_t count, const Life& client, const Life& member) {
    for (std::uint32_t number = 0; number <= count; ++number) {
      auto pair = make_packet_pair();
      REQUIRE(pair.has_value());
      const pid_t pid = ::fork();
      if (pid == 0) {
        pair->first.reset();
        for (Member& other : members) other.socket.reset();
        CrewEnd end = wire(number, count, pair->second.get());
        (number == 0 ? client : member)(end);
        // Whoever ends at once may take along what is still in its UCX.
        std::byte go{};
        (void)::read(pair->second.get(), &go, 1);
        ::_exit(0);
      }
      members.push_back({.pid = pid, .socket = std::move(pair->first)});
    }
    for (std::uint32_t number = 0; number <= count; ++number)
      REQUIRE(::read(members[number].socket.get(), &ports.of[number], sizeof(int)) == sizeof(int));
  }
  void start() {
    for (Member& member : members)
      REQUIRE(::write(member.socket.get(), &ports, sizeof(ports)) == sizeof(ports));
  }
  /// The client's end is the others' as well.
  [[nodiscard]] bool ends_well() {
    bool good = true;
    for (Member& member : members) {
      member.socket.reset();
      int status = 0;
      good = ::waitpid(member.pid, &status, 0) == member.pid && status == 0 && good;
      member.pid = -1;
    }
    return good;
  }
  ~Party() {
    for (const Member& member : members)
      if (member.pid > 0) {
        ::kill(member.pid, SIGKILL);
        ::waitpid(member.pid, nullptr, 0);
      }
  }
};

constexpr std::array<std::size_t, 7> sizes{0, 1, 64, 65, 6000, 60 * 1024, 64 * 1024};

std::vector<std::byte> bytes_of(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
  return bytes;
}

/// Sends each call to member 1, and takes the answer of the last one.
void ask(CrewEnd& end) {
  std::uint64_t round = 1;
  for (const std::size_t size : sizes) {
    const auto sent = bytes_of(size);
    CallHeader header;
    header.request_id = ++round * crew::window_places;
    header.kind = static_cast<std::uint8_t>(RequestKind::call);
    crew::set_hops(header, 9);
    need(end.send(header, {.to = 1, .payload = sent, .log = {}}).has_value(), "send");
    const CrewMessage message = take(end);
    need(message.from == end.place().members && message.header.request_id == header.request_id,
         "an answer of somebody else");
    need(std::ranges::equal(message.payload, sent), "an answer with other bytes");
    need(message.log.text.size() == end.place().members, "an answer with another log");
    end.done();
  }
}

/// Sends each call on to the next member, and the last one to the client, with a letter of log.
void pass_on(CrewEnd& end) {
  const std::uint32_t member = end.place().member;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const CrewMessage message = take(end);
    const std::string log = std::string(message.log.text) + "x";
    const std::uint32_t next = member == end.place().members ? 0 : member + 1;
    need(end.send(message.header, {.to = next, .payload = message.payload, .log = {.text = log}})
             .has_value(),
         "send on");
    end.done();
  }
}

}  // namespace

TEST_CASE("messages of any size go round members that are all elsewhere") {
  for (const std::uint32_t members : {2U, 4U}) {
    CAPTURE(members);
    Party party(members, ask, pass_on);
    party.start();
    CHECK(party.ends_well());
  }
}

TEST_CASE("who knows no key of a pair is let in by none of four peers, however many they are") {
  Party party(4, ask, pass_on);
  std::vector<UniqueFd> strangers;
  for (int round = 0; round < 20; ++round)
    for (std::uint32_t member = 1; member <= 4; ++member) {
      auto socket = connect_tcp("127.0.0.1:" + std::to_string(party.ports.of[member]),
                                in(seconds(5)), HostNames::refused);
      REQUIRE(socket.has_value());
      std::array<char, 32> hello{'O', 'R', 'C', 'H', 'C', 'R', 'E', 'W', 3};
      // Every other one says nothing at all.
      if (round % 2 == 0)
        CHECK(::send(socket->get(), hello.data(), hello.size(), MSG_NOSIGNAL) > 0);
      strangers.push_back(std::move(*socket));
    }
  party.start();
  CHECK(party.ends_well());
}

TEST_CASE("a cancelled call and a hungry member are heard of elsewhere") {
  const auto client = [](CrewEnd& end) {
    end.cancel(512);
    end.cancel(256);  // late, of a call that is over
    CallHeader header;
    header.request_id = 768;
    header.kind = 1;
    need(end.send(header, {.to = 1, .payload = {}, .log = {}}).has_value(), "send");
    const CrewMessage answer = take(end);
    need(answer.from == 2, "an answer of somebody else");
  };
  const auto member = [](CrewEnd& end) {
    if (end.place().member == 1) {
      const CrewMessage message = take(end);
      need(end.is_cancelled(512) && !end.is_cancelled(256), "nothing was cancelled");
      end.done();  // what is there is not looked for
      const auto deadline = in(seconds(20));
      while (!end.claim_hungry(2)) {
        need(std::chrono::steady_clock::now() < deadline, "nobody is hungry");
        (void)end.ready();
      }
      need(!end.claim_hungry(2), "a member is lent to twice");
      need(end.send(message.header, {.to = 2, .payload = {}, .log = {}}).has_value(), "send");
    } else {
      end.set_hungry(true);
      const CrewMessage message = take(end);
      need(end.send(message.header, {.to = 0, .payload = {}, .log = {}}).has_value(), "send");
      end.done();
    }
  };
  Party party(2, client, member);
  party.start();
  CHECK(party.ends_well());
}

TEST_CASE("a member that is gone is told once, behind what it has sent") {
  const auto client = [](CrewEnd& end) {
    CallHeader header;
    header.request_id = 256;
    header.kind = 1;
    need(end.send(header, {.to = 1, .payload = {}, .log = {}}).has_value(), "send");
    need(take(end).from == 1, "an answer of somebody else");
    end.done();
    const auto deadline = in(seconds(20));
    auto message = end.receive();
    while (message) {
      need(!*message && std::chrono::steady_clock::now() < deadline, "its end is not heard of");
      message = end.receive();
    }
    need(message.error().code == ErrorCode::unreachable, "another failure");
    need(!end.ready() && end.receive().has_value() && end.prepare_to_sleep(), "told twice");
  };
  const auto member = [](CrewEnd& end) {
    if (end.place().member != 1) return;
    const CrewMessage message = take(end);
    need(end.send(message.header, {.to = 0, .payload = {}, .log = {}}).has_value(), "send");
    (void)end.ready();
    ::_exit(0);
  };
  Party party(2, client, member);
  party.start();
  CHECK(party.ends_well());
}

}  // namespace orchid::transport
