#include "worker_door.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid::executor {
namespace {

std::string request(std::uint32_t sequence, std::string name = "weather") {
  return encode(ServiceRequest{.sequence = sequence, .name = std::move(name)});
}
template <typename Verdict>
bool is(const WorkerDoor::Verdict& verdict) {
  return std::holds_alternative<Verdict>(verdict);
}

}  // namespace

TEST_CASE("a request passes, and the next one when it was answered") {
  WorkerDoor door(false);
  const auto first = door.take(request(1));
  REQUIRE(is<WorkerDoor::Passes>(first));
  CHECK(std::get<WorkerDoor::Passes>(first).request.name == "weather");
  CHECK_FALSE(door.answered(2));
  CHECK_FALSE(door.answered(0));
  CHECK(door.answered(1));
  CHECK_FALSE(door.answered(1));
  CHECK(is<WorkerDoor::Passes>(door.take(request(2))));
}

TEST_CASE("what is no request, a second one at a time and one sent twice are nonsense") {
  CHECK(is<WorkerDoor::Nonsense>(WorkerDoor(false).take("open the door")));
  CHECK(is<WorkerDoor::Nonsense>(WorkerDoor(false).take("")));
  WorkerDoor door(false);
  CHECK(is<WorkerDoor::Passes>(door.take(request(1))));
  CHECK(is<WorkerDoor::Nonsense>(door.take(request(2))));
  CHECK(is<WorkerDoor::Nonsense>(door.take(request(1))));
  CHECK(door.answered(1));
  CHECK(is<WorkerDoor::Nonsense>(door.take(request(1))));
}

TEST_CASE("a worker that was asked to sends a request again, once for each depot that came") {
  WorkerDoor door(true);
  CHECK(is<WorkerDoor::Passes>(door.take(request(5))));
  CHECK(is<WorkerDoor::Nothing>(door.take(request(5))));
  CHECK(is<WorkerDoor::Nothing>(door.take(request(5))));
  // The first may have been answered before this depot came: then the next one is behind it.
  CHECK(is<WorkerDoor::Passes>(door.take(request(6))));
  CHECK_FALSE(door.answered(5));
  CHECK(is<WorkerDoor::Nonsense>(door.take(request(7))));
  CHECK(door.answered(6));
  // Also when it was answered in between.
  WorkerDoor quick(true);
  CHECK(is<WorkerDoor::Passes>(quick.take(request(5))));
  CHECK(quick.answered(5));
  CHECK(is<WorkerDoor::Nothing>(quick.take(request(5))));
  CHECK(is<WorkerDoor::Passes>(quick.take(request(6))));
}

TEST_CASE("a name that no data can have is refused at the door, and the worker goes on") {
  for (const char* good : {"a", "weather-2026", "weather@3", "d-00112233445566778899aabbccddeeff"})
    CHECK(is_data_name(good));
  for (const char* bad : {"", "@3", "a@", "a@x", "a@-1", "a@1@2", "../etc", "a b", "\xff", "3a"}) {
    INFO(bad);
    CHECK_FALSE(is_data_name(bad));
  }
  WorkerDoor door(false);
  const auto verdict = door.take(request(1, "../etc/passwd"));
  REQUIRE(is<WorkerDoor::Refused>(verdict));
  CHECK(std::get<WorkerDoor::Refused>(verdict).answer.sequence == 1);
  CHECK(std::get<WorkerDoor::Refused>(verdict).answer.code == ErrorCode::bad_request);
  CHECK(is<WorkerDoor::Passes>(door.take(request(2))));
}

TEST_CASE("leased memory is asked for by the id of its lease, and by nothing else") {
  const auto of_memory = [](std::string name) {
    return encode(
        ServiceRequest{.ask = ServiceAsk::open_memory, .sequence = 1, .name = std::move(name)});
  };
  CHECK(is<WorkerDoor::Passes>(WorkerDoor(false).take(of_memory("l-3-17"))));
  for (const char* bad : {"", "weather", "l-3", "l-3-17 ", "l--1"})
    CHECK(is<WorkerDoor::Refused>(WorkerDoor(false).take(of_memory(bad))));
}

TEST_CASE("modules are asked for by their digests, or without a name") {
  const std::string digest = "sha256:" + std::string(64, 'a');
  for (const ServiceAsk ask :
       {ServiceAsk::create_module, ServiceAsk::make_module, ServiceAsk::share_module}) {
    const auto of = [ask](std::string name) {
      return encode(ServiceRequest{.ask = ask, .sequence = 1, .name = std::move(name)});
    };
    for (const std::string& good : {std::string(), digest})
      CHECK(is<WorkerDoor::Passes>(WorkerDoor(false).take(of(good))));
    for (const std::string& bad : {std::string("weather"), digest.substr(1), digest + "a"})
      CHECK(is<WorkerDoor::Refused>(WorkerDoor(false).take(of(bad))));
  }
}

TEST_CASE("a module is fetched by its digest, the beginning of one, or its function's name") {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const auto of = [](std::string name) {
    return encode(
        ServiceRequest{.ask = ServiceAsk::fetch_module, .sequence = 1, .name = std::move(name)});
  };
  for (const std::string& good : {digest, digest.substr(0, 23), std::string("weather"),
                                  std::string("weather@0123456789abcdef")})
    CHECK(is<WorkerDoor::Passes>(WorkerDoor(false).take(of(good))));
  for (const std::string& bad : {std::string(), digest.substr(0, 22), digest.substr(0, 24),
                                 std::string("weather.rain"), std::string("../weather")})
    CHECK(is<WorkerDoor::Refused>(WorkerDoor(false).take(of(bad))));
}

}  // namespace orchid::executor
