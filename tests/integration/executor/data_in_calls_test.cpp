// Data objects that calls open and make: by real workers and depots, with this test in the
// gateway's place.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "in_calls_fixture.h"
#include "orchid/function.h"

namespace orchid::tests {
namespace {

using namespace std::chrono_literals;

/// Of the bytes that makes_data writes.
std::string size_and_sum(std::uint64_t size) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < size; ++i) sum += i % 251;
  return std::to_string(size) + " " + std::to_string(sum);
}

}  // namespace

TEST_CASE_FIXTURE(InCallsFixture, "what a call makes is found by the next one, by name and by id") {
  const auto made = act("make weather 1000000 70000");
  REQUIRE_MESSAGE(made.outcome == Outcome::ok, made.message);
  REQUIRE(names.objects().size() == 1);
  const PublishData::Object object = names.objects().front();
  CHECK(made.output == to_string(object.data));
  CHECK(object.terms.name == "weather");
  CHECK(object.terms.bytes.value == 70000);
  CHECK(object.terms.tenant.uid == ::geteuid());
  CHECK(used().value == 70000);  // the rest of the room was given back
  CHECK(act("open weather").output == size_and_sum(70000));
  CHECK(act("open " + made.output).output == size_and_sum(70000));
  CHECK(act("make weather 10 0").outcome == Outcome::ok);
  CHECK(act("open weather").output == "0 0");  // the newest
  CHECK(act("open " + made.output).output == size_and_sum(70000));
}

TEST_CASE_FIXTURE(InCallsFixture, "what is made is immutable, and every host that has it says so") {
  REQUIRE(act("make - 5000 5000").outcome == Outcome::ok);
  const DataId data = names.objects().front().data;
  std::vector<DataHeld> held;
  executor.with_data([&](executor::DataService& service) { held = service.introduce(); });
  REQUIRE(held.size() == 1);
  CHECK(held.front().data == data);
  CHECK(held.front().terms.version == 1);
  // As any other object it is given to calls, and mapped from a sealed file only.
  worker.send(LaneAttach{{data}});
  CHECK(std::holds_alternative<LaneAttached>(worker.receive()));
}

TEST_CASE_FIXTURE(InCallsFixture,
                  "who writes to data that it has opened crashes, and changes nothing") {
  REQUIRE(act("make weather 1000 1000").outcome == Outcome::ok);
  CHECK(act("spoil weather").outcome == Outcome::function_crashed);
  CHECK(act("open weather").output == size_and_sum(1000));
}

TEST_CASE_FIXTURE(InCallsFixture, "what a call has made vanishes when the call does not succeed") {
  check_fails("fail weather 1000 1000", "it fails");
  CHECK(is_clean());
  CHECK(act("exit weather 1000 1000").outcome == Outcome::function_exited);
  CHECK(is_clean());
  CHECK(act("crash weather 1000 1000").outcome == Outcome::function_crashed);
  CHECK(is_clean());
  CHECK(act("forget 100000").outcome == Outcome::ok);  // never sealed
  CHECK(is_clean());
  const LaneSlot slot = worker.load(test_function("makes_data"));
  CHECK(worker.call(slot, "slow 1000", 100ms).outcome == Outcome::deadline_exceeded);
  CHECK(is_clean());
  CHECK(names.objects().empty());
  check_next_call();
}

TEST_CASE_FIXTURE(InCallsFixture, "a call fails when the gateway does not want what it has made") {
  names.decline_offers(ErrorCode::quota);
  check_fails("make weather 1000 1000", "quota: the data that the call has made is not kept");
  CHECK(is_clean());
  executor.with_calls([](executor::DataOfCalls& calls) { calls.begin(false, true); });
  check_fails("make weather 1000 1000", "unreachable");
  check_fails("open weather", "unreachable");
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(InCallsFixture, "a room is sealed once, by whom it was made for, and unmapped") {
  check_fails("twice 1000", "it has been sealed");
  check_fails("make weather 1000 1001", "1001 are said to be used");
  // Its seal was refused, so its mappings are looked at, and the worker is replaced.
  const std::string aliased = act("alias 1000").message;
  CHECK_MESSAGE((contains(aliased, "still has the data mapped") ||
                 contains(aliased, "changed how data that it was given is mapped")),
                aliased);
  CHECK(is_clean());
  CHECK(names.objects().empty());
  check_fails("make weather@3 1000 1000", "name it without");
  check_fails("make no/name 1000 1000", "no data has such a name");
  check_fails("make weather 0 0", "one byte at least");
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(InCallsFixture, "who keeps a room that it has sealed keeps no memory") {
  // Twenty rooms, each of a quarter of all memory, of which it keeps a descriptor or a mapping.
  for (const char* how : {"descriptor", "mapping"}) {
    CAPTURE(how);
    const auto reply = call("keeps_rooms", how);
    CHECK_MESSAGE(reply.outcome == Outcome::ok, reply.message);
    CHECK(reply.output == "20 refused, 0 bytes kept");
    CHECK(is_clean());
  }
  CHECK(names.objects().empty());
}

TEST_CASE_FIXTURE(InCallsFixture, "more than is left is refused, with what there is") {
  check_fails("make weather 1073741824 1", "no_data_memory");
  check_fails("make weather 18446744073709551615 1", "no_data_memory");
  CHECK(act("make a 200000000 1").outcome == Outcome::ok);  // all but a byte is given back
  CHECK(act("make b 200000000 1").outcome == Outcome::ok);
  CHECK(used().value == 2);
  // Places are limited, too; the call learns of it, and what it has made so far is its own to keep.
  const auto many = act("many 2000");
  CHECK(many.output == "254 " + std::to_string(ORCHID_DATA_NO_MEMORY));
}

TEST_CASE_FIXTURE(InCallsFixture,
                  "an unknown name, another host's data and odd ids are told apart") {
  check_fails("open weather", "not_found: there is no data object 'weather'");
  check_fails("open elsewhere", "data_elsewhere: it is on the host n17");
  check_fails("open d-00000000000000000000000000000000", "not_found");
  check_fails("open ../etc/passwd", "no data has such a name");
  check_fails("open " + std::string(100, 'n'), "no data has a name of more than");
}

TEST_CASE_FIXTURE(
    InCallsFixture,
    "another tenant's data, and what a running call has made, is not there by its id") {
  constexpr std::uint64_t other_worker = 999'999;
  for (const uid_t owner : {::geteuid() + 1, ::geteuid()}) {
    CAPTURE(owner);
    DataId data;
    executor.with_data([&](executor::DataService& service) {
      auto room = service.make_in_call({.uid = owner, .name = "bob"}, 1_KiB, other_worker);
      REQUIRE(room.has_value());
      data = room->data;
      room->file.reset();
      service.seal_in_call({.data = data, .worker = other_worker, .used = 1_KiB, .name = {}},
                           [](const Result<void>& sealed) { CHECK(sealed.has_value()); });
    });
    bool sealed = false;
    CHECK(eventually([&] {
      executor.with_data([&](executor::DataService& service) {
        sealed = service.book().has_for(data, owner, other_worker);
      });
      return sealed;
    }));
    check_fails("open " + to_string(data), "not_found: there is no data object");
  }
}

TEST_CASE_FIXTURE(InCallsFixture, "10 000 opens of one name are one question, and one mapping") {
  REQUIRE(act("make weather 1000 1000").outcome == Outcome::ok);
  CHECK(act("often weather 10000").output == "10000 0");
  CHECK(names.questions() == 1);
  CHECK(act("open weather").output == size_and_sum(1000));
}

TEST_CASE_FIXTURE(InCallsFixture, "a call that asks for names without end waits for its turn") {
  using Clock = std::chrono::steady_clock;
  // Of names that are not there, each is a question: 256 at once, then 200 in a second.
  const auto start = Clock::now();
  CHECK(act("often nothing 500").output == "0 " + std::to_string(ORCHID_DATA_NOT_FOUND));
  CHECK(Clock::now() - start >= std::chrono::milliseconds((500 - 256 - 1) * 5));
  CHECK(names.questions() == 500);
  CHECK(act("make weather 1000 1000").outcome == Outcome::ok);
}

TEST_CASE_FIXTURE(InCallsFixture, "an object that is dropped is charged until its worker lets go") {
  REQUIRE(act("make weather 1000 1000").outcome == Outcome::ok);
  const DataId data = names.objects().front().data;
  REQUIRE(act("open weather").outcome == Outcome::ok);
  executor.with_data([&](executor::DataService& service) { service.obey(DropData{data}); });
  CHECK(is_clean());  // it was told to unmap it, between two calls
  check_fails("open " + to_string(data), "data_lost");
}

TEST_CASE_FIXTURE(InCallsFixture,
                  "who keeps a descriptor of what it has opened is charged for it to its end") {
  REQUIRE(act("make weather 1000 1000").outcome == Outcome::ok);
  const DataId data = names.objects().front().data;
  const auto kept = call("keeps_data", "weather");
  REQUIRE_MESSAGE(kept.outcome == Outcome::ok, kept.message);
  CHECK(kept.output == "1000");
  const pid_t keeper = worker.pid();
  executor.with_data([&](executor::DataService& service) { service.obey(DropData{data}); });
  // The worker has said that it has it mapped no more, which is true.
  check_fails("open " + to_string(data), "data_lost");
  // One that looks at its descriptors meanwhile, as it does after some time, is replaced for them.
  CHECK((used().value == 1000 || ::kill(keeper, 0) != 0));
  CHECK(act("exit - 1 1").outcome == Outcome::function_exited);
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(InCallsFixture, "a killed depot loses nothing, and the next one goes on") {
  REQUIRE(act("make weather 1000 1000").outcome == Outcome::ok);
  for (const int signal : {SIGKILL, SIGSTOP}) {
    CAPTURE(signal);
    const pid_t before = executor.depot();
    REQUIRE(before > 0);
    REQUIRE(::kill(before, signal) == 0);
    CHECK(act("open weather").output == size_and_sum(1000));
    CHECK(executor.depot() != before);
  }
  CHECK(used().value == 1000);
}

TEST_CASE_FIXTURE(InCallsFixture,
                  "a depot that is killed or stopped while a call makes data costs nothing") {
  const LaneSlot slot = worker.load(test_function("makes_data"));
  std::size_t kills = 0;
  for (int round = 0; round < 20; ++round) {
    (void)worker.start(slot, "many 100", 20s);
    if (const pid_t depot = executor.depot(); depot > 0) {
      ::kill(depot, round % 2 == 0 ? SIGKILL : SIGSTOP);
      ++kills;
    }
    const auto reply = worker.finish();
    REQUIRE_MESSAGE(reply.outcome == Outcome::ok, reply.message);
    CHECK(reply.output == "100 0");
    for (const PublishData::Object& object : names.objects())
      executor.with_data([&](executor::DataService& data) { data.obey(DropData{object.data}); });
    CHECK(is_clean());
  }
  CHECK(kills > 0);
  CHECK(names.objects().size() == 2000);
}

TEST_CASE_FIXTURE(InCallsFixture, "who abuses the service socket is ended, and nobody else") {
  WorkerClient other(executor, lane_under_test());
  const LaneSlot slot = other.load(test_function("makes_data"));
  for (const char* how : {"rubbish", "empty", "descriptor", "twice"}) {
    CAPTURE(how);
    const auto reply = call("abuses_service_socket", how);
    CHECK(reply.outcome == Outcome::function_crashed);
    CHECK_MESSAGE(contains(reply.message, "broke the rules of its sandbox"), reply.message);
    CHECK(other.call(slot, "make weather 100 100").outcome == Outcome::ok);
  }
  check_next_call();
}

}  // namespace orchid::tests
