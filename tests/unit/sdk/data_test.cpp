// Data objects of a program whose gateway does as the test says.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "clear_error.h"
#include "fake_gateway.h"
#include "foundation/host_addresses.h"
#include "orchid/client.h"

namespace orchid {
namespace {

using tests::error_of;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

constexpr const char* object_id = "d-000102030405060708090a0b0c0d0e0f";
constexpr const char* made_object =
    R"({"id":"d-000102030405060708090a0b0c0d0e0f","name":"numbers",)"
    R"("version":1,"bytes":8,"state":"sealed","hosts":["n1"]})";

std::string problem_text(std::string_view code, int status) {
  return R"({"type":"urn:orchid:problem:)" + std::string(code) + R"(","status":)" +
         std::to_string(status) + R"(,"detail":"so it is"})";
}

/// What opens it, on a host of that object_id.
std::string access_to(const std::string& boot_id) {
  return R"({"id":")" + std::string(object_id) +
         R"(","label":"numbers@1","bytes":8,"secret":"s","lane_socket":"/nowhere/lanes.sock",)"
         R"("boot_id":")" +
         boot_id + R"("})";
}

struct RoomSite {
  std::function<FakeAnswer(const FakeRequest&)> room;  // what is answered to who wants one
  FakeGateway gateway{[this](const FakeRequest& request) { return answer(request); }};
  Client client{{.gateway = gateway.address(), .token = "secret"}};

  FakeAnswer answer(const FakeRequest& request) const {
    if (request.target.ends_with("/rooms")) return room(request);
    if (request.target.ends_with("/access")) return {.body = access_to("another")};
    if (request.method == "DELETE") return {.status = 204};
    if (request.method == "GET") return {.body = "12345678"};
    return {.status = 201, .body = made_object};
  }
  [[nodiscard]] std::string said() const {
    std::string all;
    for (const FakeRequest& request : gateway.requests())
      all += request.method + " " + request.target + "\n";
    return all;
  }
};

const DataWriter write_eight = [](std::span<std::byte> room) {
  REQUIRE(room.size() == 8);
  std::ranges::fill(room, std::byte{'x'});
};

}  // namespace

TEST_CASE("on another host than the gateway's the bytes are sent") {
  for (const auto& [code, status] : {std::pair("unsupported", 501), std::pair("not_found", 404)}) {
    RoomSite site;
    site.room = [&, code = code, status = status](const FakeRequest& request) {
      CHECK(request.body.find("\"bytes\":8") != std::string::npos);
      CHECK(request.body.find(own_boot_id()) != std::string::npos);
      return FakeAnswer{.status = status, .body = problem_text(code, status)};
    };
    CHECK(site.client.write_data("numbers", 8, write_eight).label() == "numbers@1");
    CHECK(site.said() == "POST /v1/data/numbers/rooms\nPUT /v1/data/numbers\n");
    CHECK(site.gateway.requests().back().body == "xxxxxxxx");
  }
}

TEST_CASE("a room that the program cannot open is given back, and the bytes are sent") {
  RoomSite site;
  site.room = [](const FakeRequest&) {
    return FakeAnswer{.status = 201, .body = access_to(own_boot_id())};
  };
  CHECK(site.client.write_data("numbers", 8, write_eight).label() == "numbers@1");
  CHECK(site.said() == "POST /v1/data/numbers/rooms\nDELETE /v1/rooms/" + std::string(object_id) +
                           "\nPUT /v1/data/numbers\n");
}

TEST_CASE("what the room is refused for is thrown, and nothing is written") {
  RoomSite site;
  site.room = [](const FakeRequest&) {
    return FakeAnswer{.status = 412, .body = problem_text("conflict", 412)};
  };
  bool written = false;
  const Error error = error_of([&] {
    site.client.write_data("numbers", 8, [&](std::span<std::byte>) { written = true; },
                           {.only_new = true});
  });
  CHECK(error.kind() == ErrorKind::conflict);
  CHECK_FALSE(written);
  CHECK(site.said() == "POST /v1/data/numbers/rooms\n");
}

TEST_CASE("a small object is sent without a room, and a large one is not") {
  RoomSite site;
  site.room = [](const FakeRequest&) {
    return FakeAnswer{.status = 507, .body = problem_text("no_data_memory", 507)};
  };
  const std::vector<std::byte> bytes(1 << 20);
  CHECK(site.client.put_data("numbers", std::span(bytes).first(8)).version == 1);
  CHECK(site.said() == "PUT /v1/data/numbers\n");
  CHECK(error_of([&] { site.client.put_data("", bytes); }).kind() == ErrorKind::no_capacity);
}

TEST_CASE("an object of another host is fetched") {
  RoomSite site;
  const MappedData mapped = site.client.map_data("numbers");
  CHECK_FALSE(mapped.is_in_place());
  CHECK(mapped.label() == "numbers@1");
  CHECK(mapped.as<char>()[0] == '1');
  CHECK(mapped.bytes().size() == 8);
}

}  // namespace orchid
