// Addresses of members that are none: who listens there, or has heard a hello and says it again,
// gets nothing but what is the same for everybody.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "crew_party.h"
#include "foundation/tcp.h"
#include "ucx/crew_greeting.h"
#include "victims.h"

namespace orchid::transport {
namespace {

using namespace tests;

using Words = std::vector<std::byte>;

const ConnectionKey& own_key() {
  static const ConnectionKey key = crew_pair_key(party_secret, 0, 1).value();
  return key;
}

template <typename T>
Words as_words(const T& value) {
  const auto bytes = bytes_of(value);
  return {bytes.begin(), bytes.end()};
}

/// All that comes until the other end hangs up.
Words hear_out(int socket) {
  Words heard;
  std::array<std::byte, 4096> bytes;
  for (pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};;) {
    REQUIRE(::poll(&entry, 1, 30'000) == 1);
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got <= 0) return heard;
    heard.insert(heard.end(), bytes.begin(), bytes.begin() + got);
  }
}
Words hear(int socket, std::size_t size) {
  Words heard(size);
  for (std::size_t got = 0; got < size;) {
    pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&entry, 1, 30'000) == 1);
    const ssize_t more = ::recv(socket, heard.data() + got, size - got, 0);
    REQUIRE(more > 0);
    got += static_cast<std::size_t>(more);
  }
  return heard;
}
UniqueFd accept_from(int listener) {
  pollfd entry{.fd = listener, .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&entry, 1, 30'000) == 1);
  return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
}
void tell(int socket, const Words& words) {
  (void)::send(socket, words.data(), words.size(), MSG_NOSIGNAL);
}

/// What somebody may answer to that hello who does not have its key.
std::vector<Words> lies(const Hello& hello) {
  const ConnectionKey other = random_key();
  const CrewWelcome of_other = CrewGreeting{other, hello}.welcome().value();
  // It is of one who has the key, and to another hello.
  const Hello earlier = make_crew_hello(own_key()).value();
  const CrewWelcome replayed = CrewGreeting{own_key(), earlier}.welcome().value();
  const Welcome old{.magic = crew_magic, .version = lane_version};
  Words twice = as_words(hello);
  twice.insert(twice.end(), twice.begin(), twice.begin() + sizeof(hello));
  return {{},           pattern(64, 1),     pattern(5000, 2),
          twice,        as_words(of_other), as_words(replayed),
          as_words(old)};
}

/// Who hears nothing more waits to the end, which is only then to come soon.
std::chrono::seconds patience_with(const Words& words) {
  return std::chrono::seconds(words.empty() ? 5 : 20);
}

}  // namespace

TEST_CASE("who listens at the address of a member and is none gets a hello without a key") {
  std::vector<Words> hellos;
  const std::size_t count = lies({}).size();
  for (std::size_t which = 0; which < count; ++which) {
    CAPTURE(which);
    Party party(1, ask_round, pass_on, patience_with(lies({}).at(which)));
    auto liar = listen_tcp("127.0.0.1:0");
    REQUIRE(liar.has_value());
    PartyPorts told = party.ports;
    told.of[1] = liar->port;
    party.start(told);
    const UniqueFd victim = accept_from(liar->socket.get());
    const Words first = hear(victim.get(), sizeof(Hello));
    Hello hello;
    std::copy(first.begin(), first.end(), writable_bytes_of(hello).begin());
    tell(victim.get(), lies(hello).at(which));
    CHECK(hear_out(victim.get()).empty());
    CHECK(std::ranges::search(first, own_key()).empty());
    CHECK(std::ranges::find(hellos, first) == hellos.end());  // each with a salt of its own
    hellos.push_back(first);
    const int status = Party::wait_for(party.members.front());
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
  }
}

TEST_CASE("a member of another version hears which one this is, and no more") {
  Party party(2, ask_round, pass_on);
  const UniqueFd newer = connect_quietly(party.ports.of[1]);
  pollfd writable{.fd = newer.get(), .events = POLLOUT, .revents = 0};
  REQUIRE(::poll(&writable, 1, 5000) == 1);
  tell(newer.get(), as_words(make_crew_hello(own_key(), crew_version + 1).value()));
  party.start();  // its peer is not kept out by that
  const Words heard = hear_out(newer.get());
  REQUIRE(heard.size() == sizeof(Welcome));
  Welcome welcome;
  std::copy(heard.begin(), heard.end(), writable_bytes_of(welcome).begin());
  CHECK(welcome.magic == crew_magic);
  CHECK(welcome.version == crew_version);
  CHECK(party.ends_well());
}

TEST_CASE("who says the hello of a member again hears nothing that tells how to reach its UCX") {
  // The last one answers to another welcome.
  const Hello hello = make_crew_hello(own_key()).value();
  const CrewGreeting greeting{own_key(), hello};
  const Words late = as_words(greeting.thanks(greeting.welcome().value()).value());
  for (const Words& more : {Words{}, pattern(32, 1), pattern(5000, 2), late}) {
    CAPTURE(more.size());
    Party party(1, ask_round, pass_on, patience_with(more));
    const UniqueFd thief = connect_quietly(party.ports.of[1]);
    pollfd writable{.fd = thief.get(), .events = POLLOUT, .revents = 0};
    REQUIRE(::poll(&writable, 1, 5000) == 1);
    Words words = as_words(hello);
    words.insert(words.end(), more.begin(), more.end());
    tell(thief.get(), words);
    party.start();
    const Words heard = hear_out(thief.get());
    CHECK(heard.size() == sizeof(CrewWelcome));
    CHECK(std::ranges::search(heard, own_key()).empty());
    const int status = Party::wait_for(party.members.at(1));
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
  }
}

}  // namespace orchid::transport
