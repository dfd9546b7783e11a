// The rings of a crew: messages between its members and its client, and what nonsense does.
#include "transport/crew_end.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "foundation/files.h"

namespace orchid::transport {
namespace {

constexpr std::uint32_t members = 3;

struct Crew {
  CrewWires wires = std::move(*make_crew_wires(members));

  [[nodiscard]] CrewEnd end_of(std::uint32_t member) const {
    auto end = CrewEnd::attach({.member = member, .members = members}, wires.memory.get());
    REQUIRE(end.has_value());
    for (std::uint32_t peer = 0; peer <= members; ++peer)
      end->set_wake(peer, wires.wake[peer].get());
    return std::move(*end);
  }
};

CallHeader call(std::uint64_t request_id) {
  CallHeader header;
  header.request_id = request_id;
  header.kind = static_cast<std::uint8_t>(RequestKind::call);
  return header;
}

std::vector<std::byte> some_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
  return bytes;
}

CrewMessage take(CrewEnd& end) {
  auto message = end.receive();
  REQUIRE(message.has_value());
  REQUIRE(message->has_value());
  return **message;
}

/// What an honest member never writes, at the place of the first entry from one to another.
template <typename Spoil>
void check_refused(Spoil spoil) {
  const Crew crew;
  CrewEnd from = crew.end_of(1);
  CrewEnd to = crew.end_of(2);
  REQUIRE(from.send(call(256), {.to = 2, .payload = some_bytes(100), .log = {}}).has_value());
  const CrewLayout layout{members};
  void* pair = ::mmap(nullptr, CrewLayout::pair_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      crew.wires.memory.get(), static_cast<off_t>(layout.pair_offset(1, 2)));
  REQUIRE(pair != MAP_FAILED);
  spoil(static_cast<CrewRing*>(pair)->entries[0].header);
  CHECK(to.ready());
  const auto refused = to.receive();
  // It stays there, and whoever waits until nothing is there would wait for ever.
  CHECK_FALSE(to.ready());
  CHECK(to.prepare_to_sleep());
  ::munmap(pair, CrewLayout::pair_bytes);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_request);
  CHECK(refused.error().message.find("member 1 wrote nonsense") != std::string::npos);
}

}  // namespace

TEST_CASE("messages of any size and with logs come as they were sent, to whom they were sent") {
  const Crew crew;
  std::vector<CrewEnd> ends;
  for (std::uint32_t member = 0; member <= members; ++member) ends.push_back(crew.end_of(member));
  std::uint64_t number = 1;
  for (std::uint32_t from = 0; from <= members; ++from)
    for (std::uint32_t to = 0; to <= members; ++to)
      for (const std::size_t size : {0, 1, 64, 65, 5000, 64 << 10})
        for (const std::string_view log : {"", "what was logged"}) {
          if (from == 0 && to == 0) continue;
          CAPTURE(from);
          CAPTURE(to);
          CAPTURE(size);
          const auto bytes = some_bytes(size);
          REQUIRE(ends[from]
                      .send(call(number), {.to = to,
                                           .turn = static_cast<std::uint32_t>(number % 2),
                                           .payload = bytes,
                                           .log = {.text = log, .dropped = log.size()}})
                      .has_value());
          for (std::uint32_t other = 0; other <= members; ++other)
            CHECK(ends[other].ready() == (other == to));
          const CrewMessage message = take(ends[to]);
          CHECK(message.from == from);
          CHECK(message.header.request_id == number);
          CHECK(std::ranges::equal(message.payload, bytes));
          CHECK(message.log.text == log);
          CHECK(message.log.dropped == log.size());
          ends[to].done();
          ++number;
        }
}

TEST_CASE("all calls that may be open fit into one ring, again and again") {
  const Crew crew;
  CrewEnd from = crew.end_of(2);
  CrewEnd to = crew.end_of(3);
  for (std::uint64_t round = 1; round <= 5; ++round) {
    for (std::uint64_t place = 0; place < crew::open_calls; ++place) {
      const auto bytes = some_bytes(place * 3);
      REQUIRE(from.send(call(round * crew::window_places + place),
                        {.to = 3, .payload = bytes, .log = {}})
                  .has_value());
    }
    for (std::uint64_t place = 0; place < crew::open_calls; ++place) {
      const CrewMessage message = take(to);
      CHECK(message.header.request_id == round * crew::window_places + place);
      CHECK(std::ranges::equal(message.payload, some_bytes(place * 3)));
      to.done();
    }
  }
}

TEST_CASE("children that are lent, and their ends, have rooms of their own beside all open calls") {
  const Crew crew;
  CrewEnd from = crew.end_of(2);
  CrewEnd to = crew.end_of(3);
  constexpr std::array kinds{crew::MessageKind::child, crew::MessageKind::child_end};
  for (std::uint64_t place = 0; place < crew::open_calls; ++place)
    REQUIRE(from.send(call(crew::window_places + place),
                      {.to = 3, .payload = some_bytes(100 + place), .log = {}})
                .has_value());
  // All of them of the call in the last place.
  for (std::uint32_t loan = 0; loan < crew::loans; ++loan)
    for (const crew::MessageKind kind : kinds) {
      CallHeader header = call(crew::window_places + crew::open_calls - 1);
      header.kind = static_cast<std::uint8_t>(kind);
      header.status = static_cast<std::uint8_t>(loan);
      const auto bytes = some_bytes(1000 * static_cast<std::size_t>(kind) + loan);
      REQUIRE(
          from.send(header, {.to = 3, .loan = loan, .payload = bytes, .log = {.text = "logged"}})
              .has_value());
    }
  for (std::uint64_t place = 0; place < crew::open_calls; ++place) {
    CHECK(std::ranges::equal(take(to).payload, some_bytes(100 + place)));
    to.done();
  }
  for (std::uint32_t loan = 0; loan < crew::loans; ++loan)
    for (const crew::MessageKind kind : kinds) {
      const CrewMessage message = take(to);
      CHECK(message.header.kind == static_cast<std::uint8_t>(kind));
      CHECK(message.header.held_answers == loan);
      CHECK(message.header.status == loan);
      CHECK(std::ranges::equal(message.payload,
                               some_bytes(1000 * static_cast<std::size_t>(kind) + loan)));
      CHECK(message.log.text == "logged");
      to.done();
    }
  CHECK_FALSE(to.ready());
}

TEST_CASE("who is hungry is claimed once") {
  const Crew crew;
  CrewEnd hungry = crew.end_of(1);
  CrewEnd other = crew.end_of(2);
  CrewEnd third = crew.end_of(3);
  CHECK_FALSE(other.claim_hungry(1));
  hungry.set_hungry(true);
  CHECK(third.claim_hungry(1));
  CHECK_FALSE(other.claim_hungry(1));
  // It says so again when it has had something to do.
  hungry.set_hungry(true);
  CHECK_FALSE(other.claim_hungry(1));
  hungry.set_hungry(false);
  hungry.set_hungry(true);
  CHECK(other.claim_hungry(1));
  hungry.set_hungry(false);
  hungry.set_hungry(true);
  hungry.set_hungry(false);
  CHECK_FALSE(other.claim_hungry(1));
}

TEST_CASE("a ring that its reader has left full is refused, and nothing is overwritten") {
  const Crew crew;
  CrewEnd from = crew.end_of(1);
  for (std::uint64_t number = 1; number <= crew::ring_entries; ++number)
    REQUIRE(from.send(call(number), {.to = 2, .payload = {}, .log = {}}).has_value());
  const auto refused = from.send(call(600), {.to = 2, .payload = {}, .log = {}});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_request);
}

TEST_CASE("what goes to oneself does not lie where it came from") {
  const Crew crew;
  CrewEnd end = crew.end_of(1);
  CHECK(end.room(1, 7, 0).data() != end.room(1, 7, 1).data());
  const auto bytes = some_bytes(1000);
  std::uint32_t turn = 0;
  REQUIRE(end.send(call(7), {.to = 1, .turn = turn, .payload = bytes, .log = {}}).has_value());
  for (int step = 0; step < 4; ++step) {
    const CrewMessage message = take(end);
    CHECK(std::ranges::equal(message.payload, bytes));
    turn = 1 - turn;
    REQUIRE(end.send(call(7), {.to = 1, .turn = turn, .payload = message.payload, .log = {}})
                .has_value());
    end.done();
  }
}

TEST_CASE("a cancelled call is known to all, and a later one in its place is not cancelled") {
  const Crew crew;
  CrewEnd client = crew.end_of(crew::client_member);
  const CrewEnd member = crew.end_of(3);
  client.cancel(2 * crew::window_places + 9);
  CHECK(member.is_cancelled(2 * crew::window_places + 9));
  CHECK_FALSE(member.is_cancelled(3 * crew::window_places + 9));
}

TEST_CASE("a member that sleeps is woken by whoever sends to it") {
  const Crew crew;
  CrewEnd sleeper = crew.end_of(2);
  for (const std::uint32_t from : {0U, 1U, 3U}) {
    CrewEnd sender = crew.end_of(from);
    REQUIRE(sleeper.prepare_to_sleep());
    std::jthread thread(
        [&] { CHECK(sender.send(call(1), {.to = 2, .payload = {}, .log = {}}).has_value()); });
    pollfd wait{sleeper.wake_descriptor(), POLLIN, 0};
    CHECK(::poll(&wait, 1, 10'000) == 1);
    sleeper.finish_sleep();
    thread.join();
    CHECK(take(sleeper).from == from);
    sleeper.done();
    CHECK(sleeper.prepare_to_sleep());
    sleeper.finish_sleep();
  }
}

TEST_CASE("nonsense in a ring is refused, with the member that wrote it") {
  check_refused([](CallHeader& header) { header.version = 9; });
  check_refused([](CallHeader& header) { header.flags = 0x8000; });
  check_refused([](CallHeader& header) { header.request_id = 0; });
  check_refused([](CallHeader& header) { header.payload_length = (64 << 10) + 1; });
  check_refused([](CallHeader& header) { header.payload_offset = inline_payload; });
  check_refused([](CallHeader& header) {
    header.kind = static_cast<std::uint8_t>(crew::MessageKind::child);
    header.held_answers = crew::loans;
  });
  check_refused([](CallHeader& header) {
    header.flags = flag_log;
    header.request_id = 257;
    header.payload_length = 0;
    header.payload_offset = inline_payload;
  });
}

TEST_CASE("memory of another size is not attached") {
  const Crew crew;
  for (const CrewEnd::Place place :
       {CrewEnd::Place{.member = 1, .members = 4}, CrewEnd::Place{.member = 4, .members = 3},
        CrewEnd::Place{.member = 1, .members = 1}, CrewEnd::Place{.member = 1, .members = 65}}) {
    const auto refused = CrewEnd::attach(place, crew.wires.memory.get());
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_request);
  }
}

}  // namespace orchid::transport
