// Strangers at the doors of members that are about to be wired into a crew, and at their UCX while
// they are: four at a time, while four peers with keys come to the same member.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstring>
#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crew_party.h"
#include "foundation/random.h"
#include "recording.h"
#include "uct_stranger.h"
#include "ucx/crew_greeting.h"
#include "ucx/hello.h"
#include "victims.h"

namespace orchid::transport {
namespace {

using namespace tests;
using orchid::tests::Recording;

constexpr std::uint32_t members = 4;

/// What strangers say to a UCX that reads it: a put over the canary, and messages that end who
/// reads them.
std::vector<Recording> record_strangers() {
  std::vector<Recording> all;
  const auto target = reinterpret_cast<std::uint64_t>(canary.data());
  const Child open = Child::start_worker(read_everything);
  const int port = ucx_port_of(open.pid(), 0);
  REQUIRE(port != 0);
  all.push_back(
      orchid::tests::record(port, [&](int at) { CHECK(orchid::tests::put_by_force(at, target)); }));
  CHECK(canary_of(open.pid()) == std::string(32, 'A'));
  for (const unsigned number : {9U, 16U, 23U}) {
    const Child victim = Child::start_worker(read_everything);
    const int at = ucx_port_of(victim.pid(), 0);
    REQUIRE(at != 0);
    all.push_back(orchid::tests::record(
        at, [&](int via) { CHECK(orchid::tests::send_by_force(via, number, forged_words())); }));
    CHECK_FALSE(victim.is_running());
  }
  return all;
}
const std::vector<Recording>& recordings() {
  static const std::vector<Recording> all = record_strangers();
  return all;
}

std::vector<std::byte> words_of(const Hello& hello) {
  const auto bytes = bytes_of(hello);
  return {bytes.begin(), bytes.end()};
}
std::vector<std::byte> hello_with(const ConnectionKey& key) {
  return words_of(make_crew_hello(key).value());
}
/// Of one who has the key, and says it in another way than members do.
std::vector<std::byte> hello_with(const ConnectionKey& key, const HelloMagic& magic,
                                  std::uint16_t version) {
  return words_of({.magic = magic, .version = version, .key = key});
}
std::vector<std::byte> newer_hello_with(const ConnectionKey& key) {
  return words_of(make_crew_hello(key, crew_version + 1).value());
}
ConnectionKey key_of_pair(std::uint32_t one, std::uint32_t other) {
  return crew_pair_key(party_secret, one, other).value();
}
std::vector<std::byte> operator+(std::vector<std::byte> first,
                                 const std::vector<std::byte>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// What is no hello of one who is expected at that member's door.
std::vector<std::vector<std::byte>> wrong_words(std::uint32_t member) {
  const std::uint32_t next = member % members + 1;
  const std::uint32_t after_next = next % members + 1;
  constexpr std::array<std::byte, 32> other_secret{std::byte{8}};
  std::vector<std::vector<std::byte>> all{
      hello_with({}),
      hello_with(random_key()),
      hello_with(key_of_pair(next, after_next)),
      hello_with(crew_pair_key(other_secret, 0, member).value()),
      hello_with(key_of_pair(0, member), hello_magic, lane_version),
      hello_with(key_of_pair(0, member), crew_magic, lane_version),
      hello_with(key_of_pair(0, member), crew_magic, crew_version),
      newer_hello_with(key_of_pair(0, member)),
      pattern(32, 1) + hello_with(key_of_pair(0, member)),
      hello_with(random_key()) + pattern(4096, 2),
      pattern(32, 3),
      pattern(100'000, 4)};
  // It connects to that one, and expects nobody with this key.
  if (member < members) all.push_back(hello_with(key_of_pair(member, member + 1)));
  for (const Recording& said : recordings()) all.push_back(said);
  return all;
}

UniqueFd say(int port, std::span<const std::byte> words) {
  UniqueFd socket = connect_quietly(port);
  pollfd writable{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  if (!socket || ::poll(&writable, 1, 5000) != 1) return UniqueFd();
  // Who is cut in the middle has said enough.
  if (!words.empty()) (void)::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
  return socket;
}

/// The peer has hung up, whatever it has said before: another version is told so.
bool is_cut_off(int socket) {
  std::array<std::byte, 256> words;
  ssize_t got = 1;
  for (pollfd entry{.fd = socket, .events = POLLIN, .revents = 0}; got > 0;) {
    if (::poll(&entry, 1, 10'000) != 1) return false;
    got = ::recv(socket, words.data(), words.size(), 0);
  }
  return true;
}

/// Ends the connection so that the peer's socket has no other end any more; what has come stays.
void reset(UniqueFd connection) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  REQUIRE(::setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
}

/// One at each door at the same time, until they are told to go.
class Crowd {
 public:
  explicit Crowd(const Party& party) {
    for (std::uint32_t member = 1; member <= members; ++member)
      threads_.emplace_back([this, member, port = party.ports.of[member],
                             words = wrong_words(member)](const std::stop_token& stop) {
        for (std::size_t i = 0; !stop.stop_requested(); ++i) {
          UniqueFd stranger = say(port, words[i % words.size()]);
          if (stranger && i % 3 == 0) reset(std::move(stranger));
          came_.at(member) = i;
        }
      });
  }
  /// Each has said all that it has to say.
  void wait_until_all_came() const {
    for (std::uint32_t member = 1; member <= members; ++member)
      for (const auto end = in(20s); came_.at(member) < 20; std::this_thread::yield())
        REQUIRE(std::chrono::steady_clock::now() < end);
  }

 private:
  std::array<std::atomic<std::size_t>, members + 1> came_{};
  std::list<std::jthread> threads_;  // last: they use the rest
};

void check_unhurt(const Party& party) {
  for (const Party::Member& member : party.members) {
    CHECK(canary_of(member.pid) == unhurt);
    CHECK(listening_ports(member.pid).empty());
  }
}

}  // namespace

TEST_CASE("four strangers at the doors of four members keep none of their four peers out") {
  (void)recordings();
  Party party(members, ask_round, pass_on);
  std::vector<UniqueFd> strangers;
  for (std::uint32_t member = 1; member <= members; ++member) {
    const int port = party.ports.of[member];
    CHECK(listening_ports(party.members[member].pid) == std::vector{port});  // no UCX yet
    for (UniqueFd& silent : silent_connections(port, 200)) strangers.push_back(std::move(silent));
    for (const auto& words : wrong_words(member)) {
      strangers.push_back(say(port, words));
      strangers.push_back(say(port, std::span(words).first(31)));
      reset(say(port, words));
    }
  }
  {
    const Crowd crowd(party);
    crowd.wait_until_all_came();
    party.start();
    CHECK(party.is_done(crew::client_member));
  }
  check_unhurt(party);
  for (const UniqueFd& stranger : strangers) {
    REQUIRE(stranger);
    CHECK(is_cut_off(stranger.get()));
  }
  CHECK(party.ends_well());
}

TEST_CASE("whatever four strangers send to four members while they are wired, none reads it") {
  (void)recordings();
  Party party(members, ask_round, pass_on);
  // The client's hello comes to all of them at once, and what it says behind it when it may.
  std::list<SlowRelay> relays;
  PartyPorts of_client = party.ports;
  for (std::uint32_t member = 1; member <= members; ++member) {
    relays.emplace_back(party.ports.of[member], sizeof(Hello) + sizeof(CrewProof));
    const std::string& address = relays.back().address();
    of_client.of[member] = std::stoi(address.substr(address.rfind(':') + 1));
  }
  party.start(of_client);
  std::vector<int> ports;
  for (std::uint32_t member = 1; member <= members; ++member) {
    ports.push_back(ucx_port_of(party.members[member].pid, party.ports.of[member]));
    REQUIRE(ports.back() != 0);
  }
  // One at each member at the same time.
  std::array<std::vector<UniqueFd>, members> strangers;
  std::array<std::vector<UniqueFd>, members> of_those_who_go;
  {
    std::list<std::jthread> threads;
    for (std::uint32_t i = 0; i < members; ++i)
      threads.emplace_back([&, i] {
        for (const Recording& said : recordings()) {
          strangers[i].push_back(say(ports[i], said));
          of_those_who_go[i].push_back(say(ports[i], said));
        }
        strangers[i].push_back(say(ports[i], pattern(5000, i)));
        strangers[i].push_back(say(ports[i], hello_with(key_of_pair(0, i + 1))));
        for (int silent = 0; silent < 100; ++silent) strangers[i].push_back(say(ports[i], {}));
      });
  }
  for (auto& connections : of_those_who_go)
    for (UniqueFd& connection : connections) {
      REQUIRE(connection);
      reset(std::move(connection));
    }
  for (SlowRelay& relay : relays) relay.let_go();
  CHECK(party.is_done(crew::client_member));
  check_unhurt(party);
  for (const auto& connections : strangers)
    for (const UniqueFd& stranger : connections) {
      REQUIRE(stranger);
      CHECK(is_cut_off(stranger.get()));
    }
  // Nothing listens where they went.
  const auto target = reinterpret_cast<std::uint64_t>(canary.data());
  for (std::uint32_t i = 0; i < members; ++i)
    for (const int port : {party.ports.of[i + 1], ports[i]})
      CHECK_FALSE(orchid::tests::put_by_force(port, target));
  check_unhurt(party);
  CHECK(party.ends_well());
}

TEST_CASE("who has a key and talks nonsense is in time told from a peer, and ends the wiring") {
  (void)recordings();
  for (const std::size_t more : {0UL, 2UL, 5000UL}) {
    CAPTURE(more);
    Party party(members, ask_round, pass_on, std::chrono::seconds(3));
    // A length of a notice, and other things.
    std::vector<std::byte> words = hello_with(key_of_pair(0, members));
    for (std::size_t i = 0; i < more; ++i) words.push_back(std::byte{0xff});
    const UniqueFd thief = say(party.ports.of[members], words);
    REQUIRE(thief);
    party.start();
    for (Party::Member& member : party.members) {
      const int status = Party::wait_for(member);
      CHECK(WIFEXITED(status));  // by itself, and not by a signal
      CHECK(WEXITSTATUS(status) == 1);
    }
  }
}

}  // namespace orchid::transport
