// A crew whose members are all at executors of their own: processes that are wired by UCX, over
// TCP.
#include "transport/crew_mesh.h"

#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <thread>

#include "crew_party.h"
#include "foundation/tcp.h"
#include "transport/crew_end.h"

namespace orchid::transport {
namespace {

using namespace tests;
using std::chrono::seconds;

/// Of this process, that is in memory.
std::size_t resident_bytes() {
  std::ifstream sizes("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  sizes >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("messages of any size go round members that are all elsewhere") {
  for (const std::uint32_t members : {2U, 4U}) {
    CAPTURE(members);
    Party party(members, ask_round, pass_on);
    party.start();
    CHECK(party.ends_well());
  }
}

TEST_CASE("a cancelled call and a hungry member are heard of elsewhere") {
  const auto client = [](CrewEnd& end) {
    end.cancel(512);
    end.cancel(256);  // late, of a call that is over
    CallHeader header;
    header.request_id = 768;
    header.kind = 1;
    need(end.send(header, {.to = 1, .payload = {}, .log = {}}).has_value(), "send");
    const CrewMessage answer = take_message(end);
    need(answer.from == 2, "an answer of somebody else");
  };
  const auto member = [](CrewEnd& end) {
    if (end.place().member == 1) {
      const CrewMessage message = take_message(end);
      need(end.is_cancelled(512) && !end.is_cancelled(256), "nothing was cancelled");
      end.done();  // what is there is not looked for
      const auto deadline = after(seconds(20));
      while (!end.claim_hungry(2)) {
        need(std::chrono::steady_clock::now() < deadline, "nobody is hungry");
        (void)end.ready();
      }
      need(!end.claim_hungry(2), "a member is lent to twice");
      need(end.send(message.header, {.to = 2, .payload = {}, .log = {}}).has_value(), "send");
    } else {
      end.set_hungry(true);
      const CrewMessage message = take_message(end);
      need(end.send(message.header, {.to = 0, .payload = {}, .log = {}}).has_value(), "send");
      end.done();
    }
  };
  Party party(2, client, member);
  party.start();
  CHECK(party.ends_well());
}

TEST_CASE("what members that compute are to hear of cancelled calls has an end") {
  constexpr std::uint64_t rounds = 2'000;
  constexpr std::size_t most_bytes = 16 << 20;  // 500 000 frames need more
  const auto last_of = [](std::uint64_t place) { return rounds * crew::window_places + place; };
  const UniqueFd computed(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
  const auto client = [&](CrewEnd& end) {
    for (std::uint64_t place = 0; place < crew::open_calls; ++place)
      end.cancel(crew::window_places + place);
    const std::size_t before = resident_bytes();
    for (std::uint64_t round = 2; round <= rounds; ++round) {
      for (std::uint64_t place = 0; place < crew::open_calls; ++place)
        end.cancel(round * crew::window_places + place);
      (void)end.ready();
    }
    need(resident_bytes() < before + most_bytes, "all of it waits");
    const std::uint64_t both = 2;
    need(::write(computed.get(), &both, sizeof(both)) == sizeof(both), "wake");
    need(take_message(end).header.request_id == last_of(0), "another answer");
    end.done();
    need(take_message(end).header.request_id == last_of(0), "another answer");
    end.done();
  };
  const auto member = [&](CrewEnd& end) {
    std::uint64_t one = 0;
    need(::read(computed.get(), &one, sizeof(one)) == sizeof(one), "sleep");
    const auto deadline = after(seconds(20));
    for (std::uint64_t place = 0; place < crew::open_calls; ++place)
      while (!end.is_cancelled(last_of(place))) {
        need(std::chrono::steady_clock::now() < deadline, "a call is not cancelled");
        (void)end.receive();
      }
    CallHeader header;
    header.request_id = last_of(0);
    header.kind = 1;
    need(end.send(header, {.to = 0, .payload = {}, .log = {}}).has_value(), "send");
    (void)end.ready();
  };
  Party party(2, client, member);
  party.start();
  CHECK(party.ends_well());
}

TEST_CASE("a wiring whose peer accepts and never answers ends when it is told to") {
  const auto wire = [] {
    const auto peer = listen_tcp("127.0.0.1:0");
    const UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
    auto context = UcxContext::create({.transports = "tcp,self", .address = "127.0.0.1"});
    need(peer.has_value() && context.has_value(), "no UCX, or no port");
    std::thread teller([&] {
      pollfd greeted{.fd = peer->socket.get(), .events = POLLIN, .revents = 0};
      need(::poll(&greeted, 1, 20'000) == 1, "nobody connects");
      const std::uint64_t one = 1;
      need(::write(stop.get(), &one, sizeof(one)) == sizeof(one), "tell");
    });
    CrewMesh::Options options{.member = 0, .peers = {}, .deadline = after(seconds(600))};
    options.peers.push_back(
        {.member = 1, .key = *crew_pair_key(party_secret, 0, 1), .address = peer->address});
    options.stop = stop.get();
    const auto mesh = CrewMesh::wire(*context, nullptr, options);
    need(!mesh && mesh.error().code == ErrorCode::cancelled, "wired");
    teller.join();
  };
  auto pair = make_packet_pair();
  REQUIRE(pair.has_value());
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pair->first.reset();
    wire();
    ::_exit(0);
  }
  pair->second.reset();
  pollfd ended{.fd = pair->first.get(), .events = POLLIN, .revents = 0};
  CHECK(::poll(&ended, 1, 60'000) == 1);
  ::kill(pid, SIGKILL);
  int status = -1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
}

TEST_CASE("a member that is gone is told once, behind what it has sent") {
  const auto client = [](CrewEnd& end) {
    CallHeader header;
    header.request_id = 256;
    header.kind = 1;
    need(end.send(header, {.to = 1, .payload = {}, .log = {}}).has_value(), "send");
    need(take_message(end).from == 1, "an answer of somebody else");
    end.done();
    const auto deadline = after(seconds(20));
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
    const CrewMessage message = take_message(end);
    need(end.send(message.header, {.to = 0, .payload = {}, .log = {}}).has_value(), "send");
    (void)end.ready();
    ::_exit(0);
  };
  Party party(2, client, member);
  party.start();
  CHECK(party.ends_well());
}

}  // namespace orchid::transport
