// Calls of a lease with data objects that a real executor has and real workers map, with this test
// in the gateway's place.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "foundation/random.h"
#include "foundation/sockets.h"
#include "lease_fixture.h"
#include "orchid/function.hpp"
#include "protocol/lane_messages.h"

namespace orchid::tests {
namespace {

struct DataLeaseFixture : LeaseFixture {
  const std::string secret = random_hex(32);

  /// Its last word on it.
  template <typename Command>
  ControlMessage tell(const Command& command) {
    auto told = executor.with_data([&](executor::DataService& data) { data.obey(command); });
    REQUIRE(eventually([&] {
      if (told.empty()) told = executor.with_data([](executor::DataService&) {});
      return !told.empty();
    }));
    return told.back();
  }
  UniqueFd open_room(const DataId& id) {
    const UniqueFd socket = connect_packets(executor.lane_socket()).value();
    REQUIRE(
        send_packet(socket.get(), encode(LaneOpenData{id, secret, DataAccess::write})).has_value());
    // Not one poll: SIGCHLD interrupts it, as the executor's children are ours.
    std::optional<Packet> packet;
    REQUIRE(eventually([&] {
      packet = receive_packet(socket.get(), false).value();
      return packet.has_value();
    }));
    REQUIRE(packet->descriptors.size() == 1);
    return std::move(packet->descriptors.front());
  }
  /// An object that the gateway would know by that name.
  DataId make(const std::string& name, std::string_view content) {
    const MakeData room{.data = make_data_id(),
                        .terms = {.tenant = {::geteuid(), "test"},
                                  .bytes = ByteCount{content.size()},
                                  .name = name,
                                  .secret = secret},
                        .write_within = seconds(60)};
    REQUIRE(std::holds_alternative<DataMade>(tell(room)));
    REQUIRE(::write(open_room(room.data).get(), content.data(), content.size()) ==
            static_cast<ssize_t>(content.size()));
    REQUIRE(std::holds_alternative<DataSealed>(tell(SealData{room.data})));
    const DataInfo info{.id = to_string(room.data),
                        .name = name,
                        .version = 1,
                        .size = content.size(),
                        .state = "sealed",
                        .hosts = {"here"}};
    const std::lock_guard lock(source->mutex);
    source->data[name] = source->data[info.id] = info;
    return room.data;
  }
  void remove(const std::string& name, const DataId& id) {
    {
      const std::lock_guard lock(source->mutex);
      source->data.erase(name);
      source->data.erase(to_string(id));
    }
    REQUIRE(std::holds_alternative<DataDropped>(tell(DropData{id})));
  }
  CallOptions given(std::initializer_list<const char*> names) {
    CallOptions options;
    for (const char* name : names) options.data.push_back(lease.data(name));
    return options;
  }
};

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

TEST_CASE_FIXTURE(DataLeaseFixture, "calls of a lease find the bytes that were put") {
  const std::string large(1 << 20, '\1');
  make("large", large);
  make("small", "\2\3");
  const LeasedFunction uses = load("uses_data");
  const CallOptions both = given({"large", "small"});
  CHECK(uses.invoke("sum", both).text() == "2 1048578 1048581");
  CHECK(uses.async("sum", both).get().text() == "2 1048578 1048581");
  CHECK(uses.invoke("sum", given({"small"})).text() == "1 2 5");
  CHECK(uses.invoke("sum", given({"small", "small"})).text() == "2 4 10");
  CHECK(uses.invoke("sum").text() == "0 0 0");
  Buffer input = lease.buffer(3);
  std::ranges::copy(std::as_bytes(std::span("sum", 3)), input.bytes().begin());
  CHECK(uses.invoke(std::move(input), both).text() == "2 1048578 1048581");
}

TEST_CASE_FIXTURE(DataLeaseFixture, "typed functions take data as elements") {
  make("values", bytes_of<double>({1, 2.5, 4}));
  make("numbers", bytes_of<std::int32_t>({7, 1}));
  const LeasedModule module = lease.module(module_bytes(test_function("sums_typed_data")));
  const TypedLeasedFunction<double(Data<double>, double, Data<std::int32_t>)> sums(
      module.function());
  CHECK(sums.call(given({"values", "numbers"}), 2) == 23);
  CHECK(sums.async_with(given({"values", "numbers"}), 4).get() == 38);
  check_clear(error_of([&] { (void)sums.call(given({"values"}), 2); }), ErrorKind::bad_request);
  // Raw calls of the same function are looked at by the function.
  const double factor = 2;
  const Error error = error_of([&] {
    (void)module.function().invoke(std::as_bytes(std::span(&factor, 1)), given({"values"}));
  });
  CHECK(error.kind() == ErrorKind::bad_request);
  CHECK(error.message().find("data object 1 was not given") != std::string::npos);
}

TEST_CASE_FIXTURE(DataLeaseFixture,
                  "a worker that is killed is replaced, and given the data again") {
  make("numbers", "\5\6");
  const CallOptions numbers = given({"numbers"});
  const LeasedFunction sleeps = load("sleeps_with_data");
  CHECK(sleeps.invoke("", numbers).text() == "11");
  const auto pids = sdk::LeaseAccess::core_of(lease).worker_pids();
  REQUIRE(pids.size() == 1);
  const ReplyFuture running = sleeps.async("", numbers);
  const ReplyFuture waiting = sleeps.async("", numbers);
  CHECK_FALSE(running.wait_for(milliseconds(100)));
  REQUIRE(::kill(static_cast<pid_t>(pids[0]), SIGKILL) == 0);
  CHECK(running.get().text() == "11");
  CHECK(waiting.get().text() == "11");
}

TEST_CASE_FIXTURE(DataLeaseFixture, "a call with an object that was deleted ends as lost") {
  const DataId id = make("numbers", "\5\6");
  const CallOptions numbers = given({"numbers"});
  const LeasedFunction uses = load("uses_data");
  CHECK(uses.invoke("sum", numbers).text() == "1 2 11");
  remove("numbers", id);
  // Until the worker has heard of it the object is still there for it.
  REQUIRE(eventually([&] {
    try {
      return uses.invoke("sum", numbers).text().empty();
    } catch (const Error& error) {
      check_clear(error, ErrorKind::data_lost);
      CHECK(error.message().find("data 'numbers@1'") != std::string::npos);
      return true;
    }
  }));
  CHECK(uses.invoke("sum").text() == "0 0 0");
  check_clear(error_of([&] { (void)lease.data("numbers"); }), ErrorKind::not_found);
}

TEST_CASE_FIXTURE(DataLeaseFixture, "an object that no executor of the lease has ends the call") {
  {
    const std::lock_guard lock(source->mutex);
    const DataInfo info{.id = to_string(make_data_id()),
                        .name = "away",
                        .version = 2,
                        .state = "sealed",
                        .hosts = {"there"}};
    source->data["away"] = source->data[info.id] = info;
  }
  const LeasedFunction uses = load("uses_data");
  const Error error = error_of([&] { (void)uses.invoke("sum", given({"away"})); });
  check_clear(error, ErrorKind::data_elsewhere);
  CHECK(error.message().find("data 'away@2': it is on there") != std::string::npos);
  CHECK(source->copies >= 1);
}

TEST_CASE_FIXTURE(DataLeaseFixture, "64 objects are given, and 65 are refused") {
  CallOptions many;
  std::string all = "64 64 64";
  for (int i = 0; i < 64; ++i) {
    const std::string name = "n" + std::to_string(i);
    make(name, "\1");
    many.data.push_back(lease.data(name));
  }
  const LeasedFunction uses = load("uses_data");
  CHECK(uses.invoke("sum", many).text() == all);
  many.data.push_back(many.data.front());
  check_clear(error_of([&] { (void)uses.invoke("sum", many); }), ErrorKind::bad_request);
}

TEST_CASE_FIXTURE(DataLeaseFixture, "all workers of a map are given the data") {
  take({.workers = 2});
  make("numbers", "\5\6");
  const LeasedFunction uses = load("uses_data");
  const std::array<std::byte, 3> sum{std::byte{'s'}, std::byte{'u'}, std::byte{'m'}};
  const std::vector<std::vector<std::byte>> inputs(50, {sum.begin(), sum.end()});
  for (const Reply& reply : lease.map(uses, inputs, given({"numbers"})))
    CHECK(reply.text() == "1 2 11");
}

TEST_CASE_FIXTURE(DataLeaseFixture, "workers with a module each are given data, too") {
  take({.workers = 1, .separate_processes = true});
  make("numbers", "\5\6");
  const LeasedFunction uses = load("uses_data");
  const LeasedFunction sleeps = load("sleeps_with_data");
  const CallOptions numbers = given({"numbers"});
  for (int round = 0; round < 2; ++round) {
    CHECK(uses.invoke("sum", numbers).text() == "1 2 11");
    CHECK(sleeps.invoke("", numbers).text() == "11");
  }
}

}  // namespace orchid::tests
