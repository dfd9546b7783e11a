// crew_party.h: a crew whose members, and whose client, are processes of their own, all wired by
// UCX, over TCP.
#pragma once
#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/sockets.h"
#include "foundation/unique_fd.h"
#include "transport/crew_end.h"

namespace orchid::transport::tests {

constexpr std::array<std::byte, 32> party_secret{std::byte{7}, std::byte{9}};

inline LaneDeadline after(std::chrono::seconds time) {
  return std::chrono::steady_clock::now() + time;
}

/// In a member's process: what is not so ends it, and its parent sees that.
inline void need(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "member process: %s\n", what);
  ::_exit(1);
}

/// Where the doors of the others are, as one of them is told.
struct PartyPorts {
  std::array<int, 8> of{};
};

inline CrewEnd wire_member(std::uint32_t member, std::uint32_t members, int parent,
                           std::chrono::seconds patience) {
  auto context = UcxContext::create({.transports = "tcp,self", .address = "127.0.0.1"});
  need(context.has_value(), "no UCX");
  auto* kept = new UcxContext(std::move(*context));
  auto door = CrewDoor::listen("127.0.0.1");
  need(door.has_value(), "no door");
  const int port = door->port();
  need(::write(parent, &port, sizeof(port)) == sizeof(port), "tell the port");
  PartyPorts ports;
  need(::read(parent, &ports, sizeof(ports)) == sizeof(ports), "hear the ports");
  CrewMesh::Options options{.member = member, .peers = {}, .deadline = after(patience)};
  for (std::uint32_t peer = 0; peer <= members; ++peer)
    if (peer != member)
      options.peers.push_back({.member = peer,
                               .key = *crew_pair_key(party_secret, member, peer),
                               .address = "127.0.0.1:" + std::to_string(ports.of[peer])});
  auto mesh = CrewMesh::wire(*kept, &*door, options);
  if (!mesh) std::fprintf(stderr, "%u: %s\n", member, mesh.error().message.c_str());
  need(mesh.has_value(), "not wired");
  auto end = CrewEnd::attach_near({.member = member, .members = members}, {}, -1);
  need(end.has_value() && end->join(std::move(*mesh)), "no end");
  return std::move(*end);
}

/// Sleeps until there is a message, or gives up.
inline CrewMessage take_message(CrewEnd& end) {
  const auto deadline = after(std::chrono::seconds(20));
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

/// Forks: to be made where nothing has used UCX, which does not survive that, and before threads.
struct Party {
  struct Member {
    pid_t pid = -1;
    UniqueFd socket;
  };
  std::vector<Member> members;  // the client first
  PartyPorts ports;

  using Life = std::function<void(CrewEnd& end)>;
  Party(std::uint32_t count, const Life& client, const Life& member,
        std::chrono::seconds patience = std::chrono::seconds(20)) {
    for (std::uint32_t number = 0; number <= count; ++number) {
      auto pair = make_packet_pair();
      REQUIRE(pair.has_value());
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        pair->first.reset();
        for (Member& other : members) other.socket.reset();
        const int parent = pair->second.get();
        CrewEnd end = wire_member(number, count, parent, patience);
        (number == 0 ? client : member)(end);
        const std::byte done{1};
        (void)::send(parent, &done, 1, MSG_NOSIGNAL);  // if anybody still wants to know
        // Whoever ends at once may take along what is still in its UCX.
        std::byte go{};
        (void)::read(parent, &go, 1);
        ::_exit(0);
      }
      members.push_back({.pid = pid, .socket = std::move(pair->first)});
    }
    for (std::uint32_t number = 0; number <= count; ++number)
      REQUIRE(::read(members[number].socket.get(), &ports.of[number], sizeof(int)) == sizeof(int));
  }
  void start() { start(ports); }
  /// The client is told of these doors, and the members of the true ones.
  void start(const PartyPorts& of_client) {
    for (Member& member : members) {
      const PartyPorts& told = &member == members.data() ? of_client : ports;
      REQUIRE(::write(member.socket.get(), &told, sizeof(told)) == sizeof(told));
    }
  }
  /// It has done its life's work, and is still there. False: it has ended, or takes too long.
  [[nodiscard]] bool is_done(std::uint32_t member) const {
    const int socket = members[member].socket.get();
    pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
    std::byte done{};
    return ::poll(&wait, 1, 40'000) == 1 && ::read(socket, &done, 1) == 1;
  }
  /// The client's end is the others' as well.
  [[nodiscard]] bool ends_well() {
    bool good = true;
    for (Member& member : members) {
      const int status = wait_for(member);
      good = status == 0 && good;
    }
    return good;
  }
  /// Its wait status.
  [[nodiscard]] static int wait_for(Member& member) {
    member.socket.reset();
    int status = -1;
    REQUIRE(::waitpid(member.pid, &status, 0) == member.pid);
    member.pid = -1;
    return status;
  }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;
  ~Party() {
    for (const Member& member : members)
      if (member.pid > 0) {
        ::kill(member.pid, SIGKILL);
        ::waitpid(member.pid, nullptr, 0);
      }
  }
};

constexpr std::array<std::size_t, 7> party_sizes{0, 1, 64, 65, 6000, 60 * 1024, 64 * 1024};

inline std::vector<std::byte> party_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
  return bytes;
}

/// Sends each call to member 1, and takes the answer of the last one.
inline void ask_round(CrewEnd& end) {
  std::uint64_t round = 1;
  for (const std::size_t size : party_sizes) {
    const auto sent = party_bytes(size);
    CallHeader header;
    header.request_id = ++round * crew::window_places;
    header.kind = static_cast<std::uint8_t>(RequestKind::call);
    crew::set_hops(header, 9);
    need(end.send(header, {.to = 1, .payload = sent, .log = {}}).has_value(), "send");
    const CrewMessage message = take_message(end);
    need(message.from == end.place().members && message.header.request_id == header.request_id,
         "an answer of somebody else");
    need(std::ranges::equal(message.payload, sent), "an answer with other bytes");
    need(message.log.text.size() == end.place().members, "an answer with another log");
    end.done();
  }
}

/// Sends each call on to the next member, and the last one to the client, with a letter of log.
inline void pass_on(CrewEnd& end) {
  const std::uint32_t member = end.place().member;
  for (std::size_t i = 0; i < party_sizes.size(); ++i) {
    const CrewMessage message = take_message(end);
    const std::string log = std::string(message.log.text) + "x";
    const std::uint32_t next = member == end.place().members ? 0 : member + 1;
    need(end.send(message.header, {.to = next, .payload = message.payload, .log = {.text = log}})
             .has_value(),
         "send on");
    end.done();
  }
}

}  // namespace orchid::transport::tests
