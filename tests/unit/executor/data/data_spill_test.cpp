// Objects that go to disk for others, and come back, as the executor's part for data does it.
#include "data/data_spill.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "data/data_service.h"
#include "data_book_parts.h"
#include "data_pages.h"
#include "event_loop.h"
#include "foundation/log.h"
#include "protocol/control_messages.h"
#include "scratch_folder.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t size = 1 << 20;  // of each object

/// There is memory for two objects.
struct SpillHost : test::EventLoop {
  /// `to`: where objects go; empty: to a directory of its own.
  explicit SpillHost(const std::filesystem::path& to = {})
      : data(io, {.budget = ByteCount{2 * size}, .per_tenant = ByteCount{2 * size}, .disk = 16_MiB},
             to.empty() ? directory.path() : to) {
    log::configure("unit_executor", LogLevel::error);
    data.set_handlers({[this](const ControlMessage& message) { said.push_back(message); }, {}});
  }

  template <typename Message>
  Message await() {
    std::optional<Message> found;
    run_until([&] {
      while (!found && !said.empty()) {
        if (const auto* message = std::get_if<Message>(&said.front())) found = *message;
        said.pop_front();
      }
      return found.has_value();
    });
    return *found;
  }
  DataId make(char content, const std::string& name = "") {
    const MakeData made = room_request(size, name);
    data.obey(made);
    CHECK(await<DataMade>().data == made.data);
    auto room = data.open({made.data, made.terms.secret, DataAccess::write}, ada);
    REQUIRE(room.has_value());
    const std::string bytes(size, content);
    REQUIRE(::pwrite(room->file.get(), bytes.data(), size, 0) == static_cast<ssize_t>(size));
    room->file.reset();  // what its writer has open stays in memory
    data.obey(SealData{made.data});
    CHECK(await<DataSealed>().data == made.data);
    return made.data;
  }
  Result<void> prepare(const DataId& object, std::chrono::milliseconds within = 30s) {
    std::optional<Result<void>> result;
    data.prepare(object, within, [&](const Result<void>& said) { result = said; });
    run_until([&] { return result.has_value(); });
    return *result;
  }
  /// Its first and last byte, as a worker would see them.
  std::string ends_of(const DataId& object) {
    const auto there = prepare(object);
    REQUIRE_MESSAGE(there.has_value(), there.error().message);
    auto taken = data.take(object, ada);
    REQUIRE(taken.has_value());
    std::string ends(2, '\0');
    REQUIRE(::pread(taken->file.get(), ends.data(), 1, 0) == 1);
    REQUIRE(::pread(taken->file.get(), ends.data() + 1, 1, size - 1) == 1);
    taken->file.reset();
    data.leave(object);
    return ends;
  }
  bool is_on_disk(const DataId& object) { return data.book().is_on_disk(object); }

  // Between two pieces of work there is none, and the loop is to go on all the same.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> more_to_come =
      boost::asio::make_work_guard(io);
  const tests::Scratch directory;
  DataService data;
  std::deque<ControlMessage> said;
};

TEST_CASE("what does not fit goes to disk, and is the same when it is wanted again") {
  SpillHost host;
  const DataId first = host.make('a', "first");
  const DataId second = host.make('b');
  const DataId third = host.make('c');
  const DataId fourth = host.make('d', "fourth");
  CHECK(host.is_on_disk(first));
  CHECK(host.is_on_disk(second));
  CHECK(host.data.book().used() == ByteCount{2 * size});
  CHECK(host.data.introduce().size() == 4);
  CHECK(std::filesystem::is_empty(host.directory.path()));  // no file has a name
  CHECK(host.ends_of(first) == "aa");
  CHECK(host.ends_of(second) == "bb");
  CHECK(host.ends_of(third) == "cc");
  CHECK(host.ends_of(fourth) == "dd");
  CHECK(host.data.book().used() <= ByteCount{2 * size});
  std::map<std::string, std::uint64_t> counters;
  host.data.count(counters);
  CHECK(counters["data_spilled"] >= 4);
  CHECK(counters["data_read_back"] >= 4);
  CHECK(counters["data_not_spilled"] == 0);
}

TEST_CASE("several who want the same one wait for one reading") {
  SpillHost host;
  const DataId first = host.make('a');
  host.make('b');
  host.make('c');
  int told = 0;
  for (int i = 0; i < 3; ++i)
    host.data.prepare(first, 30s, [&](const Result<void>& there) {
      CHECK(there.has_value());
      CHECK(host.data.take(first, ada).has_value());
      ++told;
    });
  host.run_until([&] { return told == 3; });
  std::map<std::string, std::uint64_t> counters;
  host.data.count(counters);
  CHECK(counters["data_read_back"] == 1);
}

TEST_CASE("a room that is given up while others go to disk for it is not made") {
  SpillHost host;
  const DataId first = host.make('a');
  host.make('b');
  const MakeData room = room_request(size, "room");
  host.data.obey(room);
  host.data.obey(DropData{room.data});
  CHECK(host.await<DataDropped>().data == room.data);
  host.run_until([&] { return host.is_on_disk(first); });
  CHECK_FALSE(host.data.book().contains(room.data));
  host.make('c');  // and others go on
}

TEST_CASE("what is dropped on disk, or on its way, leaves nothing") {
  SpillHost host;
  const DataId first = host.make('a');
  const DataId second = host.make('b');
  host.make('c');
  REQUIRE(host.is_on_disk(first));
  host.data.obey(DropData{first});
  CHECK(host.prepare(first).has_value());
  CHECK(code_of_book(host.data.take(first, ada)) == ErrorCode::data_lost);
  // While it is being written.
  const MakeData room = room_request(size, "room");
  host.data.obey(room);
  host.data.obey(DropData{second});
  CHECK(host.await<DataMade>().data == room.data);
  CHECK(host.data.book().on_disk() == 0_B);
  host.run_until([&] { return host.data.settled(); });
}

TEST_CASE("what is dropped while it is written to disk gives its pages back") {
  SpillHost host;
  const DataId first = host.make('a');
  host.make('b');
  const MakeData room = room_request(size, "room");
  host.data.obey(room);
  host.data.obey(DropData{first});  // what makes room is being written
  CHECK(host.data.book().used() == ByteCount{2 * size});
  CHECK(host.await<DataMade>().data == room.data);
  host.run_until([&] { return host.data.settled(); });
  CHECK(host.data.book().used() == ByteCount{2 * size});
  CHECK(pages_held() == size);  // the room has none yet
}

TEST_CASE("what a reader keeps that hangs up during the write is charged, and stays in memory") {
  SpillHost host;
  const DataId first = host.make('a');
  host.make('b');
  const std::string secret = room_request(size).terms.secret;
  for (const bool dropped : {false, true}) {
    CAPTURE(dropped);
    host.data.obey(room_request(size, "room"));  // makes room of the first one
    auto kept = host.data.open({first, secret, DataAccess::read}, ada);
    REQUIRE(kept.has_value());
    host.data.stop_reading(first);  // which says nothing of the file
    if (dropped) host.data.obey(DropData{first});
    host.run_until([&] { return host.data.settled(); });
    host.io.restart();
    host.io.poll();
    host.data.tick();
    CHECK_FALSE(host.is_on_disk(first));
    CHECK(host.data.book().pins(first) == 1);
    CHECK(pages_held() <= host.data.book().used().value);
    CHECK(host.data.book().used() <= ByteCount{2 * size});
    kept->file.reset();
    host.data.tick();
    CHECK(host.data.book().pins(first) == 0);
  }
  host.run_until([&] { return host.data.settled(); });
  CHECK(pages_held() <= host.data.book().used().value);
}

TEST_CASE("without a disk, or when it takes no more, unnamed objects are dropped as before") {
  SpillHost host("/proc/nowhere");
  const DataId unnamed = host.make('a');
  const DataId named = host.make('b', "named");
  const MakeData room = room_request(size, "room");
  host.data.obey(room);
  const auto dropped = host.await<DataDropped>();
  CHECK(dropped.data == unnamed);
  CHECK(dropped.reason == DataEnd::evicted);
  CHECK(host.await<DataMade>().data == room.data);
  host.data.obey(room_request(size, "more"));
  const auto refused = host.await<DataRefused>();
  CHECK(refused.code == ErrorCode::no_data_memory);
  CHECK_MESSAGE(
      refused.message.find("no more goes there: make a file in /proc/nowhere") != std::string::npos,
      refused.message);
  CHECK(host.ends_of(named) == "bb");
}

TEST_CASE("who cannot wait any longer is told to try again, and it goes on") {
  SpillHost host;
  const DataId first = host.make('a');
  host.make('b');
  host.make('c');
  REQUIRE(host.is_on_disk(first));
  std::optional<Result<void>> result;
  host.data.prepare(first, 0ms, [&](const Result<void>& said) { result = said; });
  host.data.tick();
  REQUIRE(result.has_value());
  CHECK(code_of_book(*result) == ErrorCode::no_capacity);
  CHECK(result->error().message.find("try again") != std::string::npos);
  host.run_until([&] { return !host.is_on_disk(first); });
  CHECK(host.ends_of(first) == "aa");
}

TEST_CASE("a grant that ends ends what is under way, and nobody waits for it") {
  SpillHost host;
  const DataId first = host.make('a');
  host.make('b');
  host.make('c');
  std::optional<Result<void>> result;
  host.data.prepare(first, 30s, [&](const Result<void>& said) { result = said; });
  host.data.end();
  REQUIRE(result.has_value());
  CHECK(code_of_book(*result) == ErrorCode::lease_ended);
  host.run_until([&] { return host.data.settled(); });
  host.io.restart();
  host.io.poll();
  CHECK(host.data.book().on_disk() == 0_B);
}

TEST_CASE("a sealed object on disk is sealed when it is told to be once more") {
  SpillHost host;
  const DataId first = host.make('a', "first");
  host.make('b');
  host.make('c');
  REQUIRE(host.is_on_disk(first));
  host.data.obey(SealData{first});
  CHECK(host.await<DataSealed>().data == first);
}

}  // namespace
}  // namespace orchid::executor
