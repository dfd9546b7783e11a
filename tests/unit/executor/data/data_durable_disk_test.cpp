// Files of durable objects on a disk that is slow, fails, or loses its power: nothing is said
// before it is so, and nobody pays for others.
#include <doctest/doctest.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "data/clock_now.h"
#include "data/data_durable.h"
#include "data/durable_folder.h"
#include "data/memory_file.h"
#include "data_book_parts.h"
#include "data_pages.h"
#include "disk_calls.h"
#include "durable_host.h"
#include "event_loop.h"
#include "foundation/task.h"
#include "protocol/control_messages.h"
#include "scratch_folder.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

/// An object that is being written to a disk that does not go on.
DataId write_one(DurableHost& host, const std::string& name, std::uint32_t tenant = ada) {
  const MakeData made = host.order(name, /*durable=*/true, tenant);
  static_cast<void>(host.await<DataMade>());
  host.write(made, 'a');
  return made.data;
}

void run_what_there_is(DurableHost& host) {
  host.run_until([&] { return host.data.closed(); });
  host.io.restart();
  while (host.io.poll() != 0) host.io.restart();
  host.run_until([&] { return host.data.closed(); });
}

TEST_CASE("memory is charged until the disk has let go of it, and what waits lets go at once") {
  const tests::Scratch directory;
  DiskCalls disk;
  DurableHost host(directory.path(), 9, 9);
  disk.hold("fsync", ".orchid-");
  const DataId first = write_one(host, "first");
  host.run_until([&] { return disk.is_held(); });
  const DataId second = write_one(host, "second");
  run_what_there_is(host);
  CHECK(host.data.book().used() == ByteCount{2 * durable_size});
  host.data.obey(DropData{second});
  run_what_there_is(host);
  CHECK(pages_held() == durable_size);
  CHECK(host.data.book().used() == ByteCount{durable_size});
  host.data.obey(DropData{first});
  run_what_there_is(host);
  CHECK(pages_held() == durable_size);
  CHECK(host.data.book().used() == ByteCount{durable_size});
  disk.release();
  host.settle();
  run_what_there_is(host);
  CHECK(pages_held() == 0);
  CHECK(host.data.book().used() == 0_B);
  CHECK(host.data.book().durable_used() == 0_B);
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("deleted is said when the file is gone, and its disk knows that") {
  const tests::Scratch directory;
  DiskCalls disk;
  DurableHost host(directory.path());
  const DataId kept = host.make('a', "climate");
  const std::string folder = (directory / std::to_string(ada)).string();
  disk.hold("fsync", folder);
  host.data.obey(DropData{kept});
  host.run_until([&] { return disk.is_held(); });
  host.data.obey(DropData{kept});  // asked once more
  run_what_there_is(host);
  CHECK(host.said.empty());
  CHECK_FALSE(host.data.book().contains(kept));
  CHECK(host.data.book().used() == 0_B);
  CHECK(host.data.book().durable_used() == ByteCount{durable_size});
  MakeData again = room_request(durable_size);
  again.data = kept;
  host.data.obey(again);  // not before the old one is gone
  CHECK(std::get<DataRefused>(host.await<DataRefused>()).code == ErrorCode::conflict);
  disk.release();
  for (int i = 0; i < 2; ++i) {
    const auto dropped = std::get<DataDropped>(host.await<DataDropped>());
    CHECK(dropped.data == kept);
    CHECK(dropped.reason == DataEnd::deleted);
  }
  const auto calls = disk.calls(folder);
  REQUIRE(calls.size() >= 2);
  CHECK(calls[calls.size() - 2].is("unlinkat", to_string(kept)));
  CHECK(calls.back().is("fsync", folder));
  CHECK(host.data.book().durable_used() == 0_B);
}

TEST_CASE("one that is over is told so when its file is gone") {
  const tests::Scratch directory;
  DiskCalls disk;
  DurableHost host(directory.path());
  MakeData made = room_request(durable_size, "climate");
  made.terms.durable = true;
  made.terms.version = 1;
  made.terms.expires_in = 0ms;
  host.data.obey(made);
  static_cast<void>(host.await<DataMade>());
  static_cast<void>(host.seal(made, 'a'));
  disk.hold("unlinkat", to_string(made.data));
  host.data.tick();
  host.run_until([&] { return disk.is_held(); });
  run_what_there_is(host);
  CHECK(host.said.empty());
  disk.release();
  CHECK(std::get<DataDropped>(host.await<DataDropped>()).reason == DataEnd::expired);
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("an executor that ends before its disk lets a file go does not say that it has gone") {
  const tests::Scratch directory;
  DataId kept;
  {
    bool fails = true;
    DiskCalls disk(
        [&](const DiskCalls::Call& call) { return fails && call.name == "unlinkat" ? EIO : 0; });
    DurableHost host(directory.path());
    kept = host.make('a', "climate");
    host.data.obey(DropData{kept});
    host.settle();
    host.data.tick();  // it is tried again later
    run_what_there_is(host);
    CHECK(host.said.empty());
    CHECK(host.data.book().durable_used() == ByteCount{durable_size});
  }
  DurableHost next(directory.path());
  const auto held = next.data.introduce();
  REQUIRE(held.size() == 1);
  CHECK(held[0].data == kept);
  next.data.obey(DropData{kept});  // by the gateway, which has heard of nothing
  CHECK(std::get<DataDropped>(next.await<DataDropped>()).reason == DataEnd::deleted);
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("a disk that does not let a file go is asked again until it does") {
  const tests::Scratch directory;
  test::EventLoop loop;
  int failures = 2;
  DiskCalls disk([&](const DiskCalls::Call& call) {
    return call.name == "unlinkat" && failures-- > 0 ? EIO : 0;
  });
  DataDurable durable([&](Task task) { boost::asio::post(loop.io, std::move(task)); },
                      DurableFolder::open(directory.path()).value());
  const auto guard = boost::asio::make_work_guard(loop.io);
  DataHeld held{.data = make_data_id(), .terms = {.tenant = {ada, "ada"}, .durable = true}};
  MemoryFile empty = MemoryFile::make(0_B).value();
  REQUIRE(empty.seal().has_value());
  bool written = false;
  durable.write(held, std::move(empty),
                {.closed = [] {},
                 .done = [&](const Result<std::string>& digest) { written = digest.has_value(); }});
  loop.run_until([&] { return written; });
  bool gone = false;
  durable.dropped(held.data);
  durable.when_gone(held.data, [&] { gone = true; });
  const auto settle = [&] { loop.run_until([&] { return durable.idle(); }); };
  settle();
  durable.tick(clock_now());  // not yet
  settle();
  CHECK(failures == 1);
  durable.tick(clock_now() + DataDurable::until_retry);
  settle();
  CHECK_FALSE(gone);
  durable.tick(clock_now() + DataDurable::until_retry);
  loop.run_until([&] { return gone; });
  CHECK(files_in(directory.path()) == 0);
  bool at_once = false;
  durable.when_gone(held.data, [&] { at_once = true; });
  CHECK(at_once);
}

TEST_CASE("tenants take turns at the disk") {
  const tests::Scratch directory;
  test::EventLoop loop;
  DiskCalls disk;
  DataDurable durable([&](Task task) { boost::asio::post(loop.io, std::move(task)); },
                      DurableFolder::open(directory.path()).value());
  const auto guard = boost::asio::make_work_guard(loop.io);
  std::vector<std::uint32_t> written;
  std::size_t closed = 0;
  const auto write = [&](std::uint32_t tenant) {
    DataHeld held{.data = make_data_id(), .terms = {.tenant = {tenant, "ada"}, .durable = true}};
    MemoryFile empty = MemoryFile::make(0_B).value();
    REQUIRE(empty.seal().has_value());
    durable.write(held, std::move(empty),
                  {.closed = [&] { ++closed; },
                   .done = [&, tenant](const Result<std::string>&) { written.push_back(tenant); }});
    return held.data;
  };
  disk.hold("fsync", ".orchid-");
  write(ada);
  loop.run_until([&] { return disk.is_held(); });
  DataId last;
  for (std::size_t i = 0; i < DataDurable::most_writes; ++i) last = write(ada);
  for (int i = 0; i < 2; ++i) write(eve);
  durable.dropped(last);  // nobody waits for it any more
  CHECK_FALSE(durable.has_let_go());
  disk.release();
  loop.run_until([&] { return durable.idle(); });
  REQUIRE(written.size() == DataDurable::most_writes + 2);
  CHECK(std::vector(written.begin(), written.begin() + 5) ==
        std::vector<std::uint32_t>{ada, eve, ada, eve, ada});
  CHECK(closed == DataDurable::most_writes + 3);
  CHECK(files_in(directory.path()) == written.size());
}

TEST_CASE("a room for a file is refused before its bytes are sent when too many are on their way") {
  const tests::Scratch directory;
  DiskCalls disk;
  DurableHost host(directory.path(), 999, 999);
  disk.hold("fsync", ".orchid-");
  std::vector<MakeData> made;
  const auto is_made = [&](const std::string& name, bool durable = true,
                           std::uint32_t tenant = ada) {
    const MakeData order = host.order(name, durable, tenant);
    const auto answer = host.await<DataMade, DataRefused>();
    if (const auto* refused = std::get_if<DataRefused>(&answer)) {
      CHECK(refused->code == ErrorCode::no_capacity);
      CHECK(refused->message.find("try again") != std::string::npos);
      return false;
    }
    made.push_back(order);
    return true;
  };
  for (std::size_t i = 0; i < DataDurable::most_writes; ++i) REQUIRE(is_made(""));
  CHECK_FALSE(is_made(""));
  // Asked for once more.
  host.data.obey(made.front());
  static_cast<void>(host.await<DataMade>());
  const std::vector<MakeData> rooms = made;
  CHECK(is_made("", /*durable=*/false));
  CHECK(is_made("", /*durable=*/true, eve));
  // None that has a room is refused.
  for (const MakeData& one : rooms) host.write(one, 'a');
  run_what_there_is(host);
  CHECK_FALSE(is_made(""));
  host.data.obey(DropData{rooms.back().data});
  run_what_there_is(host);
  CHECK(is_made(""));
  disk.release();
  for (std::size_t i = 0; i + 1 < rooms.size(); ++i)
    static_cast<void>(std::get<DataSealed>(host.await<DataSealed, DataRefused>()));
  CHECK(is_made(""));
  for (const MakeData& one : made) host.data.obey(DropData{one.data});
  host.settle();
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("the end waits until the disk has let go of memory, and not until files have gone") {
  const tests::Scratch directory;
  DiskCalls disk;
  DurableHost host(directory.path());
  const DataId old = host.make('a', "old");
  SUBCASE("memory") {
    disk.hold("fsync", ".orchid-");
    write_one(host, "climate");
    host.run_until([&] { return disk.is_held(); });
    host.data.end();
    run_what_there_is(host);
    CHECK_FALSE(host.data.has_let_go());
    disk.release();
    host.run_until([&] { return host.data.has_let_go(); });
    CHECK(pages_held() == 0);
  }
  SUBCASE("files") {
    disk.hold("unlinkat", ".data");
    host.data.obey(DropData{old});
    host.run_until([&] { return disk.is_held(); });
    host.data.end();
    host.run_until([&] { return host.data.has_let_go(); });
    CHECK_FALSE(host.data.settled());
    disk.release();
    host.settle();
  }
}

TEST_CASE("a read that fails is not a file that was changed") {
  const tests::Scratch directory;
  DataId kept;
  {
    DurableHost host(directory.path());
    kept = host.make('a', "climate");
  }
  const std::string file = to_string(kept) + ".data";
  std::vector<int> answers;
  DiskCalls disk([&](const DiskCalls::Call& call) {
    if (!call.is("pread", file) || answers.empty()) return 0;
    const int answer = answers.back();
    answers.pop_back();
    return answer;
  });
  DurableHost next(directory.path());
  for (const std::vector<int>& ends_in_error :
       {std::vector{EIO}, std::vector{EIO, 0}, std::vector{EIO, 0, EINTR}}) {
    answers = ends_in_error;
    CHECK(code_of_book(next.first_of(kept)) == ErrorCode::system);
    CHECK(next.said.empty());
  }
  answers = {EINTR, 0, EINTR};
  CHECK(next.first_of(kept) == 'a');
}

TEST_CASE("a file that cannot be read when an executor starts is left, and counted") {
  const tests::Scratch directory;
  {
    DurableHost host(directory.path());
    static_cast<void>(host.make('a', "climate"));
  }
  std::map<std::string, std::uint64_t> counters;
  {
    DiskCalls disk([](const DiskCalls::Call& call) { return call.is("pread", ".data") ? EIO : 0; });
    DurableHost host(directory.path());
    CHECK(host.data.introduce().empty());
    host.data.count(counters);
  }
  CHECK(counters["data_files_ignored"] == 1);
  DurableHost next(directory.path());
  CHECK(next.data.introduce().size() == 1);
  counters.clear();
  next.data.count(counters);
  CHECK(counters["data_files_ignored"] == 0);
}

TEST_CASE("the folder of a tenant is known to the disk before a file in it counts") {
  const tests::Scratch directory;
  const std::string root = directory.path().string();
  int failures = 1;
  DiskCalls disk([&](const DiskCalls::Call& call) {
    return call.name == "fsync" && call.file == root && failures-- > 0 ? EIO : 0;
  });
  DurableHost host(directory.path());
  const MakeData made = host.order("climate");
  static_cast<void>(host.await<DataMade>());
  const auto refused = host.seal(made, 'a');
  REQUIRE(std::holds_alternative<DataRefused>(refused));
  CHECK(files_in(directory.path()) == 0);
  // The folder is there now, whatever the disk knows.
  static_cast<void>(host.make('a', "climate"));
  const auto calls = disk.calls(root);
  std::size_t synced = 0;
  std::size_t written = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].name == "fsync" && calls[i].file == root) synced = i;
    if (calls[i].is("fsync", ".orchid-")) written = i;
  }
  CHECK(synced > 0);
  CHECK(written > synced);
}

}  // namespace
}  // namespace orchid::executor
