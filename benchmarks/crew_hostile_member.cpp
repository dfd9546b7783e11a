// benchmarks/crew_hostile_member.cpp: what can a hostile member do to the members it is wired to?
//
// Three members, each with one UCX worker for both others. The first one asks the second one all
// the time; the third one writes bytes of its choice into its own connection to the second one,
// under UCX. Printed for each kind of bytes: does the second one still live, does it still answer
// the first one, has its memory changed? No promise hangs on it: THREAT-MODEL.md says what follows.
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "crew/party_processes.h"
#include "harness/machine.h"
#include "ucx/doors.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

enum Role : unsigned { asker, victim, hostile, member_count };
constexpr unsigned ask_id = 1;
constexpr unsigned reply_id = 2;

/// At the same address in all processes, which are forks of one.
std::array<char, 64> canary{"untouched"};

using Bytes = std::vector<std::byte>;
template <typename T>
void append(Bytes& bytes, const T& value) {
  const auto* start = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), start, start + sizeof(value));
}

/// As UCX's TCP transport frames a message.
Bytes framed(std::uint8_t number, std::uint32_t length, const Bytes& content) {
  Bytes bytes;
  append(bytes, number);
  append(bytes, length);
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}
Bytes of_words(std::uint64_t word) {
  Bytes bytes;
  for (int i = 0; i < 25; ++i) append(bytes, word);
  return bytes;
}

constexpr std::uint8_t connection_number = 32;  // the transport's own: uct/tcp/tcp.h
constexpr std::uint8_t put_number = 33;
constexpr std::uint8_t put_answer_number = 34;
constexpr std::uint8_t keepalive_number = 35;

struct Attack {
  std::string name;
  Bytes bytes;
  bool closes = false;  // and ends the connection after it
};

std::vector<Attack> attacks() {
  const auto target = reinterpret_cast<std::uint64_t>(canary.data());
  std::vector<Attack> all;
  Bytes put;
  append(put, target);
  append(put, std::uint64_t{8});
  append(put, std::uint32_t{1});
  Attack to_memory{"a put to an address of its choice",
                   framed(put_number, static_cast<std::uint32_t>(put.size()), put)};
  append(to_memory.bytes, std::array<char, 8>{"hurt"});
  all.push_back(to_memory);
  for (std::uint8_t number = 0; number < connection_number; ++number) {
    Attack attack{"message " + std::to_string(number) + " of UCP, forged", {}};
    for (const std::uint64_t word : {target, target | 1, std::uint64_t{0}, ~std::uint64_t{0}}) {
      const Bytes content = of_words(word);
      const Bytes one = framed(number, static_cast<std::uint32_t>(content.size()), content);
      attack.bytes.insert(attack.bytes.end(), one.begin(), one.end());
    }
    all.push_back(attack);
  }
  const Bytes zeros = of_words(0);
  const auto size = static_cast<std::uint32_t>(zeros.size());
  all.push_back({"the transport's message about connections, forged",
                 framed(connection_number, size, zeros)});
  all.push_back({"an answer to a put that never was", framed(put_answer_number, size, zeros)});
  all.push_back({"the transport's sign of life", framed(keepalive_number, 0, {})});
  all.push_back({"an unknown message of the transport", framed(77, size, zeros)});
  all.push_back({"a length of 4 GiB", framed(ask_id, ~std::uint32_t{0}, zeros)});
  all.push_back(
      {"a length of 64 KiB, and as many bytes", framed(25, 65536, Bytes(65536, std::byte{1}))});
  all.push_back({"half a head, and nothing more", {std::byte{25}, std::byte{9}}});
  all.push_back({"half a message, and the connection's end", framed(25, 4096, zeros), true});
  return all;
}

/// The connection that UCX has made to the victim, in this process.
int connection_to_victim() {
  in_addr address{};
  ::inet_pton(AF_INET, tests::HostNamespaces::address(victim).c_str(), &address);
  const auto sockets = transport::tcp_sockets();
  if (!sockets) return -1;
  for (const transport::TcpSocket& socket : *sockets)
    if (!socket.listens && std::memcmp(&socket.names.remote.address[12], &address, 4) == 0)
      return socket.fd;
  return -1;
}

struct Honest {
  UcxParty* party = nullptr;
  Board* board = nullptr;
  void send(unsigned peer, unsigned id) const { party->send(peer, id, party->take_slot(), 24); }
  static ucs_status_t on_question(void* self, const void*, std::size_t, void*, std::size_t,
                                  const ucp_am_recv_param_t*) {
    static_cast<Honest*>(self)->send(asker, reply_id);
    return UCS_OK;
  }
  static ucs_status_t on_reply(void* self, const void*, std::size_t, void*, std::size_t,
                               const ucp_am_recv_param_t*) {
    ++static_cast<Honest*>(self)->board->counter(asker);
    static_cast<Honest*>(self)->send(victim, ask_id);
    return UCS_OK;
  }
};

void live_honestly(UcxParty& party, Board& board, unsigned self) {
  Honest honest{&party, &board};
  party.handle(self == victim ? ask_id : reply_id,
               self == victim ? Honest::on_question : Honest::on_reply, &honest);
  ++board.counter(self);
  while (board.counter(victim) < 2) ::sched_yield();
  if (self == asker) honest.send(victim, ask_id);
  for (;;) {
    if (!party.progress()) ::sched_yield();
    board.figures(self)[own] = party.is_lost(hostile) ? 1 : 0;
    if (self == victim) board.figures(self)[own + 1] = canary[0] == 'u' ? 0 : 1;
  }
}

void live_hostile(const Attack& attack, Board& board) {
  const int connection = connection_to_victim();
  while (board.counter(hostile) != 2) ::sched_yield();
  const ssize_t sent = ::send(connection, attack.bytes.data(), attack.bytes.size(), MSG_NOSIGNAL);
  if (attack.closes) ::shutdown(connection, SHUT_RDWR);
  if (sent == static_cast<ssize_t>(attack.bytes.size())) ++board.counter(hostile);
  for (;;) ::poll(nullptr, 0, -1);
}

/// In words.
std::string outcome_of(PartyProcesses& crew) {
  Board& board = crew.board();
  if (!comes_true([&] { return board.counter(asker) > 100; }, 10s)) return "no traffic: not tried";
  ++board.counter(hostile);
  if (!comes_true([&] { return board.counter(hostile) == 3; }, 5s)) return "could not be sent";
  const auto ended = [&] { return crew.end_of(victim).has_value(); };
  if (comes_true(ended, 500ms))
    return "the victim has ended: " + (*crew.end_of(victim) > 128
                                           ? "signal " + std::to_string(*crew.end_of(victim) - 128)
                                           : "status " + std::to_string(*crew.end_of(victim)));
  const std::uint64_t before = board.counter(asker);
  const bool goes_on =
      comes_true([&] { return board.counter(asker) > before + 100; }, 3s) && !ended();
  std::string text = goes_on ? "goes on with the others" : "lives, but answers nobody any more";
  if (board.figures(victim)[own] != 0) text += "; it has dropped the connection";
  if (board.figures(victim)[own + 1] != 0) text += "; ITS MEMORY IS CHANGED";
  return text;
}

int run() {
  const std::vector<int> cores = allowed_cores();
  const auto hosts = tests::HostNamespaces::create(member_count);
  if (!hosts) {
    std::fprintf(stderr, "crew_hostile_member: %s\n", hosts.error().message.c_str());
    return 3;
  }
  for (const Attack& attack : attacks()) {
    auto crew = PartyProcesses::start({.count = member_count,
                                       .hosts = *hosts,
                                       .host_count = member_count,
                                       .cores = cores,
                                       .quiet = true},
                                      [&attack](UcxParty& party, Board& board, unsigned self) {
                                        if (self == hostile)
                                          live_hostile(attack, board);
                                        else
                                          live_honestly(party, board, self);
                                      });
    if (!crew) {
      std::fprintf(stderr, "crew_hostile_member: %s\n", crew.error().message.c_str());
      return 3;
    }
    std::printf("%-52s %s\n", attack.name.c_str(), outcome_of(*crew).c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace orchid::bench

int main() { return orchid::bench::run(); }
