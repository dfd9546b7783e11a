// The book of data objects under random histories.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "data/data_book.h"
#include "data_book_parts.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

/// What has happened, kept in the plainest way, to compare with.
struct History {
  struct Known {
    MakeData made;
    unsigned pins = 0;  // of these some are readers
    unsigned readers = 0;
    bool sealed = false;
    bool dropped = false;
    bool in_call = false;  // and not published
    bool durable = false;
    bool has_file = false;
    bool file_gone = false;  // after it was dropped
    /// Where its bytes are; on the way it is pinned once for that.
    enum class Place : std::uint8_t { memory, to_disk, disk, from_disk };
    Place place = Place::memory;
    [[nodiscard]] bool is_there() const { return !dropped && sealed; }
    [[nodiscard]] bool is_in_memory() const {
      return place == Place::memory || place == Place::to_disk;
    }
    [[nodiscard]] bool takes_memory() const {
      return place != Place::disk && (!dropped || pins != 0);
    }
  };
  std::map<DataId, Known> known;

  [[nodiscard]] std::uint64_t charged(std::optional<std::uint32_t> tenant = {}) const {
    std::uint64_t bytes = 0;
    for (const auto& [data, one] : known)
      if (one.takes_memory() && (!tenant || one.made.terms.tenant.uid == *tenant))
        bytes += one.made.terms.bytes.value;
    return bytes;
  }
  [[nodiscard]] std::uint64_t on_disk() const {
    std::uint64_t bytes = 0;
    for (const auto& [data, one] : known)
      if (!one.dropped && !one.has_file && one.place != Known::Place::memory)
        bytes += one.made.terms.bytes.value;
    return bytes;
  }
  [[nodiscard]] std::uint64_t durable() const {
    std::uint64_t bytes = 0;
    for (const auto& [data, one] : known)
      if (one.durable && !one.file_gone) bytes += one.made.terms.bytes.value;
    return bytes;
  }
  /// Those with a place of their own: an empty object takes one, too, and a file that is there yet.
  [[nodiscard]] std::size_t places() const {
    return static_cast<std::size_t>(std::ranges::count_if(known, [](const auto& entry) {
      const Known& one = entry.second;
      return !one.dropped || one.pins != 0 || (one.durable && !one.file_gone);
    }));
  }
  void evict(const std::vector<DataId>& victims) {
    for (const DataId& data : victims) {
      const Known& victim = known.at(data);
      CHECK(victim.made.terms.name.empty());
      CHECK(victim.is_there());
      CHECK(victim.pins == 0);
      CHECK_FALSE(victim.in_call);
      CHECK_FALSE(victim.durable);
      drop(data);
    }
  }
  void drop(const DataId& data) { known.at(data).dropped = true; }
};

constexpr std::uint64_t history_budget = 1000;
constexpr std::uint64_t history_share = 700;
constexpr std::uint64_t history_disk = 900;
constexpr std::uint64_t history_files = 800;
constexpr std::size_t history_places = 40;

void make_one(DataBook& book, History& history, std::mt19937& random, MonotonicTime now) {
  MakeData made =
      room_request(random() % 400, random() % 2 == 0 ? "" : "name", random() % 2 == 0 ? ada : eve);
  const bool in_call = random() % 4 == 0;
  if (!in_call && random() % 4 == 0) made.terms.expires_in = std::chrono::seconds(random() % 50);
  if (!in_call && random() % 3 == 0) made.created_ago = 1min;  // a copy
  made.terms.durable = !in_call && random() % 4 == 0;
  const auto evicted = in_call ? book.make_in_call(made, 1, now) : book.make(made, now);
  if (!evicted) {
    CHECK((evicted.error().code == ErrorCode::no_data_memory ||
           evicted.error().code == ErrorCode::quota ||
           (evicted.error().code == ErrorCode::disk_full && made.terms.durable)));
    CHECK_FALSE(book.contains(made.data));
    return;
  }
  history.evict(*evicted);
  const bool durable = made.terms.durable && !made.created_ago;
  history.known.emplace(made.data,
                        History::Known{.made = made, .in_call = in_call, .durable = durable});
}

/// At once, or until its memory is back.
void drop_one(DataBook& book, const DataId& data, History::Known& one, std::mt19937& random) {
  if (random() % 2 == 0) {
    CHECK(book.drop(data) == !one.dropped);
  } else {
    CHECK(book.drop_slowly(data) == !one.dropped);
    one.pins += one.dropped ? 0 : 1;
  }
  one.dropped = true;
}

/// What becomes of one that a call has made.
void end_call_of(DataBook& book, const DataId& data, History::Known& one, std::mt19937& random,
                 MonotonicTime now) {
  if (one.sealed) {
    CHECK(book.publish({.data = data, .version = 1}, {}, now));
    one.in_call = false;
    return;
  }
  const ByteCount used{random() % (one.made.terms.bytes.value + 1)};
  REQUIRE(book.check_seal_in_call(data, 1, used).has_value());
  book.seal_in_call(data, used, one.made.terms.name, now);
  one.made.terms.bytes = used;
  one.sealed = true;
}

/// As a room for a copy, or as a copy.
void write_or_spare(DataBook& book, const DataId& data, History::Known& one) {
  const bool may = !one.dropped && !one.sealed && one.made.created_ago.has_value();
  CHECK(book.open_for_copy(data).has_value() == may);
  if (may) ++one.pins;
  const bool frees = one.place != History::Known::Place::disk || one.made.terms.bytes.value == 0;
  const bool goes = !one.dropped && one.sealed && one.pins == 0 && !one.durable && frees;
  CHECK(book.drop_unless_used(data) == goes);
  one.dropped = one.dropped || goes;
}

/// What is to go to disk for somebody begins to, and whatever of it was begun ends.
void move_one(DataBook& book, History& history, const DataId& data, History::Known& one,
              std::mt19937& random, MonotonicTime now) {
  using enum History::Known::Place;
  const bool good = random() % 4 != 0;
  switch (one.place) {
    case memory: {
      const DataBook::Demand demand{random() % 2 == 0 ? ada : eve, ByteCount{random() % 600}};
      const auto next = book.next_to_spill(demand);
      if (book.fits(demand)) CHECK_FALSE(next.has_value());
      if (!next) return;
      History::Known& chosen = history.known.at(*next);
      CHECK((chosen.is_there() && chosen.pins == 0 && !chosen.in_call && chosen.place == memory));
      CHECK(book.begin_spill(*next) == chosen.made.terms.bytes);
      chosen.place = to_disk;
      ++chosen.pins;
      return;
    }
    case to_disk: {
      // Somebody has it open whom nobody counted.
      if (random() % 4 == 0) {
        book.keep(data);
        ++one.pins;
      }
      const bool goes = good && !one.dropped && one.pins == 1;
      CHECK(book.end_spill(data, good) == goes);
      --one.pins;
      one.place = goes ? disk : memory;
      return;
    }
    case disk: {
      if (one.dropped) return;
      const auto evicted = book.begin_return(data, now);
      if (!evicted) return;
      history.evict(*evicted);
      one.place = from_disk;
      ++one.pins;
      return;
    }
    case from_disk: {
      CHECK(book.end_return(data, good) == (good && !one.dropped));
      --one.pins;
      one.place = good || one.dropped ? memory : disk;
      return;
    }
  }
}

/// Of its pins these may be taken back by whoever has it mapped.
bool has_plain_pins(const History::Known& one) {
  using enum History::Known::Place;
  const unsigned moving = one.place == to_disk || one.place == from_disk ? 1 : 0;
  return one.pins > one.readers + moving;
}

/// With a gateway that has heard of what is sealed now.
void begin_afresh(DataBook& book, History& history, MonotonicTime now) {
  std::unordered_set<DataId> told;
  for (const DataHeld& held : book.held(now)) told.insert(held.data);
  for (const DataId& room : book.keep_only(told)) {
    CHECK_FALSE(history.known.at(room).sealed);
    CHECK_FALSE(history.known.at(room).in_call);
    history.drop(room);
  }
}

/// With its file, if it is to have one.
void seal_one(DataBook& book, const DataId& data, History::Known& one, MonotonicTime now) {
  CHECK(book.lacks_file(data) == (!one.dropped && one.durable && !one.has_file));
  if (one.durable && !one.dropped) {
    book.keep_file(data);
    one.has_file = true;
  }
  CHECK(book.seal(data, now).has_value() == !one.dropped);
  one.sealed = one.sealed || !one.dropped;
}

void take_step(DataBook& book, History& history, std::mt19937& random, MonotonicTime now) {
  if (history.known.empty() || random() % 4 == 0) return make_one(book, history, random, now);
  auto chosen = history.known.begin();
  std::advance(chosen, random() % history.known.size());
  auto& [data, one] = *chosen;
  switch (random() % 14) {
    case 11:
      book.file_gone(data);
      one.file_gone = one.dropped;
      break;
    case 9:
      if (!one.takes_memory()) break;
      book.keep(data);
      ++one.pins;
      break;
    case 10:
      return move_one(book, history, data, one, random, now);
    case 7: {
      const bool may = one.is_there() && !one.in_call && one.is_in_memory();
      CHECK(book.pin_for_copy(data, now).has_value() == may);
      if (may) ++one.pins;
      break;
    }
    case 8:
      return write_or_spare(book, data, one);
    case 0:
      if (one.in_call && !one.dropped) return end_call_of(book, data, one, random, now);
      return seal_one(book, data, one, now);
    case 1: {
      const std::uint32_t tenant = random() % 2 == 0 ? ada : eve;
      const bool may = one.is_there() && !one.in_call && one.is_in_memory() &&
                       one.made.terms.tenant.uid == tenant;
      CHECK(book.pin(data, tenant, now).has_value() == may);
      if (may) ++one.pins;
      break;
    }
    case 2:
      if (!has_plain_pins(one)) break;
      book.unpin(data);
      --one.pins;
      break;
    case 3:
      return drop_one(book, data, one, random);
    case 4:
      if (random() % 8 == 0) begin_afresh(book, history, now);
      break;
    case 5: {
      const LaneOpenData reader{data, one.made.terms.secret, DataAccess::read};
      const bool may = one.is_there() && !one.in_call && one.is_in_memory();
      CHECK(book.open(reader, 0, now).has_value() == may);
      one.readers += may ? 1 : 0;
      one.pins += may ? 1 : 0;
      break;
    }
    case 6:
      if (one.readers == 0) break;
      book.stop_reading(data);
      --one.readers;
      --one.pins;
      break;
    default:
      for (const DataDropped& over : book.end_overdue(now)) history.drop(over.data);
  }
}

TEST_CASE("under any history budget, shares and pins are kept, and every byte is accounted for") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    DataBook book({.budget = ByteCount{history_budget},
                   .per_tenant = ByteCount{history_share},
                   .most_objects = history_places,
                   .disk = ByteCount{history_disk},
                   .durable = ByteCount{history_files}});
    History history;
    for (int step = 0; step < 300; ++step) {
      take_step(book, history, random, book_start + std::chrono::seconds(step));
      REQUIRE(book.used().value <= history_budget);
      REQUIRE(book.used().value == history.charged());
      REQUIRE(book.on_disk().value == history.on_disk());
      REQUIRE(book.on_disk().value <= history_disk);
      REQUIRE(book.durable_used().value == history.durable());
      REQUIRE(book.durable_used().value <= history_files);
      REQUIRE(history.places() <= history_places);
      for (const std::uint32_t tenant : {ada, eve}) {
        REQUIRE(book.used_by(tenant).value == history.charged(tenant));
        REQUIRE(book.used_by(tenant).value <= history_share);
      }
      for (const auto& [data, one] : history.known) REQUIRE(book.contains(data) == !one.dropped);
    }
  }
}

}  // namespace
}  // namespace orchid::executor
