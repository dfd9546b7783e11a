#include "crew/crew_places.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace orchid::sdk {
namespace {

GrantedWorker worker_at(const std::string& node, const std::string& lane_address) {
  return {.lease = {},
          .secret = {},
          .executor = lane_address,
          .node = node,
          .boot_id = node,
          .lane_socket = "/lanes.sock",
          .lane_address = lane_address};
}

/// Of a client at "a": two members there, two at "b", and one at another executor of "a".
CrewPlaces some_places() {
  LeaseGrant grant;
  for (const auto& worker : {worker_at("b", "b:1"), worker_at("a", "a:1"), worker_at("a", "a:2"),
                             worker_at("b", "b:1"), worker_at("a", "a:1")})
    grant.workers.push_back(worker);
  return places_of(grant, "a");
}

std::uint32_t place_of(const CrewPlaces& places, std::uint32_t asker, const std::string& data,
                       const DataHolders& holders) {
  std::vector<const CrewPlaces::Seat*> seats;
  for (const auto& seat : places.seats) seats.push_back(&seat);
  return member_with_data(seats, places.seats.at(asker - 1), {.data = data, .holders = holders});
}

}  // namespace

TEST_CASE("members of one executor have numbers that follow each other, the client's the lowest") {
  const CrewPlaces places = some_places();
  REQUIRE(places.seats.size() == 5);
  CHECK(places.spread);
  const std::array<std::vector<std::uint32_t>, 5> near{{{0, 1, 2}, {0, 1, 2}, {3}, {4, 5}, {4, 5}}};
  for (std::size_t i = 0; i < near.size(); ++i) {
    CHECK(places.seats.at(i).member == i + 1);
    CHECK(places.seats.at(i).near == near.at(i));
  }
}

TEST_CASE("a call goes on at a member of an executor that has its data") {
  const CrewPlaces places = some_places();
  for (int i = 0; i < 20; ++i) {
    const std::string data = "table" + std::to_string(i);
    // Of two executors of one host it is the one that has the object, whoever asks.
    CHECK(place_of(places, 4, data, {.hosts = {"a"}, .executors = {"a:2"}}) == 3);
    CHECK(place_of(places, 1, data, {.hosts = {"a"}, .executors = {"a:2"}}) == 3);
    const std::uint32_t at = place_of(places, 5, data, {.hosts = {"a"}, .executors = {"a:1"}});
    CHECK((at == 1 || at == 2));
    CHECK(place_of(places, 3, data, {.hosts = {"a"}, .executors = {"a:1"}}) == at);
  }
  // It has gone from there, or is at an executor where no member is.
  CHECK(place_of(places, 3, "table", {.hosts = {"a"}, .executors = {"a:2"}}) == 0);
  CHECK(place_of(places, 4, "table", {.hosts = {"a"}, .executors = {"a:3"}}) == 0);
}

TEST_CASE("an older gateway says only which hosts have the data, and which executors is unknown") {
  const CrewPlaces places = some_places();
  for (const std::uint32_t asker : {1U, 2U, 3U})
    for (int i = 0; i < 20; ++i) {
      const std::string data = "table" + std::to_string(i);
      const std::uint32_t at =
          place_of(places, asker, data, {.hosts = {"n17", "b"}, .executors = {}});
      CHECK((at == 4 || at == 5));
      CHECK(place_of(places, asker, data, {.hosts = {"b"}, .executors = {}}) ==
            at);  // the same one for each who asks
    }
  // It is not at the asker's executor, which has looked; it may be at another one of that host.
  const DataHolders a{.hosts = {"a"}, .executors = {}};
  CHECK(place_of(places, 1, "table", a) == 3);
  CHECK((place_of(places, 3, "table", a) == 1 || place_of(places, 3, "table", a) == 2));
  CHECK(place_of(places, 1, "table", {.hosts = {"n17"}, .executors = {}}) == 0);
  CHECK(place_of(places, 4, "table", {.hosts = {"b"}, .executors = {}}) == 0);
  CHECK(place_of(places, 4, "table", {}) == 0);
}

}  // namespace orchid::sdk
