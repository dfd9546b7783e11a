// Programs with data: objects that they write and read in place, and calls that they give them to;
// with a real gateway, executor and workers.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "clear_error.h"
#include "foundation/host_addresses.h"
#include "local_orchid.h"
#include "orchid/client.h"
#include "orchid/function.hpp"

namespace orchid::tests {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr std::size_t mib = 1 << 20;

struct ProgramFixture {
  LocalOrchid orchid = must_start();
  Client client{{.gateway = orchid.address(), .token = orchid.token()}};

  static LocalOrchid must_start() {
    auto started = LocalOrchid::start({.programs = PROGRAMS, .data_memory = "64MiB"});
    if (!started) throw std::runtime_error(started.error().message);
    return std::move(*started);
  }
  template <typename Condition>
  static bool eventually(Condition condition, seconds patience = seconds(20)) {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (!condition())
      if (std::chrono::steady_clock::now() > give_up) return false;
    return true;
  }
  /// Whether the executor soon says that it has so many bytes of data.
  bool uses(std::uint64_t bytes) {
    return eventually([&] {
      const Json hosts = Json::parse(client.get("/v1/hosts"));
      return hosts.at("hosts").at(0).at("executors").at(0).at("data_used_bytes") == bytes;
    });
  }
  std::string text(std::string_view reference) {
    std::string all;
    client.get_data(reference, [&](std::span<const std::byte> bytes) {
      all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    return all;
  }
  void put_numbers(std::string_view name, std::size_t count) {
    client.write_data(name, count * sizeof(double), [&](std::span<std::byte> room) {
      const std::span numbers(reinterpret_cast<double*>(room.data()), count);
      std::iota(numbers.begin(), numbers.end(), 0.0);
    });
  }
  void deploy(const std::string& name) {
    client.deploy_file(name, std::filesystem::path(FUNCTIONS) / (name + ".bc"));
  }
  void kill_executor() const {
    for (const pid_t process : orchid.processes()) {
      std::ifstream file("/proc/" + std::to_string(process) + "/comm");
      std::string name;
      std::getline(file, name);
      if (name == "orchid-executor") ::kill(process, SIGKILL);
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(ProgramFixture, "a program writes an object in place, and maps it") {
  const DataInfo made = client.write_data("numbers", 8 * mib, [](std::span<std::byte> room) {
    CHECK(std::ranges::all_of(room, [](std::byte each) { return each == std::byte{0}; }));
    std::ranges::fill(room, std::byte{7});
  });
  CHECK(made.label() == "numbers@1");
  CHECK(made.size == 8 * mib);
  CHECK(made.state == "sealed");
  CHECK(uses(8 * mib));
  const MappedData mapped = client.map_data("numbers");
  CHECK(mapped.is_in_place());
  CHECK(mapped.label() == "numbers@1");
  REQUIRE(mapped.bytes().size() == 8 * mib);
  CHECK(std::ranges::all_of(mapped.bytes(), [](std::byte each) { return each == std::byte{7}; }));
  CHECK(mapped.as<std::uint64_t>().size() == mib);
  CHECK(text("numbers") == std::string(8 * mib, '\7'));
  // What was large enough is written there, too, without being sent.
  const std::vector<std::byte> bytes(2 * mib, std::byte{9});
  CHECK(client.put_data("bytes", bytes).label() == "bytes@1");
  CHECK(text("bytes") == std::string(2 * mib, '\11'));
  const DataInfo unnamed =
      client.write_data("", 0, [](std::span<std::byte> room) { CHECK(room.empty()); });
  CHECK(unnamed.name.empty());
  CHECK(client.map_data(unnamed.id).bytes().empty());
}

TEST_CASE_FIXTURE(ProgramFixture, "a writer that throws leaves nothing, and no version") {
  struct Tired {};
  CHECK_THROWS_AS(
      client.write_data("numbers", 4 * mib, [](std::span<std::byte>) { throw Tired(); }), Tired);
  CHECK(client.list_data().empty());
  CHECK(uses(0));
  put_numbers("numbers", 10);
  CHECK(client.describe_data("numbers").version == 1);
}

TEST_CASE_FIXTURE(ProgramFixture, "preconditions hold for what is written in place") {
  put_numbers("numbers", 10);
  const DataInfo first = client.describe_data("numbers");
  bool written = false;
  const DataWriter write = [&](std::span<std::byte>) { written = true; };
  check_clear(error_of([&] { client.write_data("numbers", 8, write, {.only_new = true}); }),
              ErrorKind::conflict);
  CHECK_FALSE(written);  // it is refused before
  CHECK(client.write_data("numbers", 8, write, {.if_match = first.id}).version == 2);
  // Somebody else is faster.
  const std::string second = client.describe_data("numbers").id;
  check_clear(error_of([&] {
                client.write_data("numbers", 8,
                                  [&](std::span<std::byte>) { put_numbers("numbers", 1); },
                                  {.if_match = second});
              }),
              ErrorKind::conflict);
  CHECK(client.describe_data("numbers").version > 2);
}

TEST_CASE_FIXTURE(ProgramFixture, "more than the executor keeps is refused before it is written") {
  bool written = false;
  const Error error = error_of([&] {
    client.write_data("numbers", 65 * mib, [&](std::span<std::byte>) { written = true; });
  });
  check_clear(error, ErrorKind::no_capacity);
  CHECK_FALSE(written);
}

TEST_CASE_FIXTURE(ProgramFixture, "an executor that ends while it is written into loses the room") {
  const Error error = error_of([&] {
    client.write_data("numbers", 4 * mib, [&](std::span<std::byte> room) {
      kill_executor();
      std::ranges::fill(room, std::byte{1});  // the pages are still there
    });
  });
  CHECK(error.kind() == ErrorKind::unreachable);
}

TEST_CASE_FIXTURE(ProgramFixture,
                  "what is mapped stays when it is deleted, and is charged so long") {
  put_numbers("numbers", 1000);
  {
    const MappedData mapped = client.map_data("numbers");
    client.remove_data("numbers");
    CHECK(mapped.as<double>()[999] == 999);
    CHECK(uses(8000));
  }
  CHECK(uses(0));
  check_clear(error_of([&] { (void)client.map_data("numbers"); }), ErrorKind::not_found);
}

TEST_CASE_FIXTURE(ProgramFixture, "calls of a lease are given what was put") {
  put_numbers("values", 1001);
  const std::array<std::int32_t, 2> more{7, 1};
  client.put_data("more", std::as_bytes(std::span(more)));
  deploy("sums_typed_data");
  Lease lease = client.lease();
  const LeasedData values = lease.data("values");
  const LeasedData extra = lease.data("more@1");
  using Sums = double(Data<double>, double, Data<std::int32_t>);
  const auto sums = lease.function<Sums>("sums_typed_data");
  CHECK(sums.call({.data = {values, extra}}, 2) == 1001008);
  put_numbers("values", 1);  // the lease's data is still the first version
  CHECK(sums.async_with({.data = {values, extra}}, 2).get() == 1001008);
  check_clear(error_of([&] { (void)sums.call({.data = {values}}, 2); }), ErrorKind::bad_request);
  // The same where the gateway runs the call.
  const auto called = client.function<Sums>("sums_typed_data");
  CHECK(called.call({.data = {"values@1", "more"}}, 2) == 1001008);
  CHECK(called.submit_with({.data = {"values", "more"}}, 2).get() == 8);
  check_clear(error_of([&] { (void)lease.data("nothing"); }), ErrorKind::not_found);
  client.remove_data("values");
  REQUIRE(eventually([&] {
    try {
      return sums.call({.data = {values, extra}}, 2) == 0;
    } catch (const Error& error) {
      check_clear(error, ErrorKind::data_lost);
      return true;
    }
  }));
}

}  // namespace orchid::tests
