// What is charged for memory files that somebody still has open, in whatever way.
#include "data/data_service.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "foundation/random.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

struct Objects {
  boost::asio::io_context io;
  DataService data{io, {.budget = 64_KiB, .per_tenant = 64_KiB}};
  std::vector<ControlMessage> told;
  const std::string secret = random_hex(32);

  Objects() {
    data.set_handlers({.tell = [this](const ControlMessage& message) { told.push_back(message); },
                       .dropped = {}});
  }
  DataId make_room() {
    const DataId id = make_data_id();
    data.obey(MakeData{
        .data = id,
        .terms = {.tenant = {::geteuid(), "test"}, .bytes = 16_KiB, .name = {}, .secret = secret},
        .write_within = 60s});
    REQUIRE(std::holds_alternative<DataMade>(told.back()));
    return id;
  }
  UniqueFd open(const DataId& id, DataAccess access) {
    return std::move(
        data.open({.data = id, .secret = secret, .access = access}, ::geteuid()).value().file);
  }
  /// What the gateway is told of it, when the kernel has looked at its pages.
  ControlMessage seal(const DataId& id) {
    told.clear();
    data.obey(SealData{.data = id});
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    while (told.empty()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.restart();
      io.run_for(1ms);
    }
    return told.back();
  }
  DataId make() {
    const DataId id = make_room();
    open(id, DataAccess::write).reset();
    CHECK(std::holds_alternative<DataSealed>(seal(id)));
    return id;
  }
  ByteCount used() {
    data.tick();
    return data.memory().used;
  }
};

/// One page of it, as a reader maps it.
void* map_page(const UniqueFd& file) {
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file.get(), 0);
  REQUIRE(page != MAP_FAILED);
  return page;
}

TEST_CASE("a reader that says it has done, and keeps the file, is charged until it closes it") {
  Objects objects;
  const DataId id = objects.make();
  UniqueFd file = objects.open(id, DataAccess::read);
  objects.data.stop_reading(id);
  objects.data.obey(DropData{id});
  CHECK(objects.used() == 16_KiB);
  file.reset();
  CHECK(objects.used() == 0_B);
}

TEST_CASE("a mapping is charged as a descriptor is") {
  Objects objects;
  const DataId id = objects.make();
  void* const page = map_page(objects.open(id, DataAccess::read));
  objects.data.stop_reading(id);
  objects.data.obey(DropData{id});
  CHECK(objects.used() == 16_KiB);
  ::munmap(page, 4096);
  CHECK(objects.used() == 0_B);
}

TEST_CASE("who has closed an object before it says so costs nothing") {
  Objects objects;
  const DataId id = objects.make();
  objects.open(id, DataAccess::read).reset();
  objects.data.stop_reading(id);
  CHECK(objects.data.book().pins(id) == 0);
  objects.data.obey(DropData{id});
  CHECK(objects.data.memory().used == 0_B);
}

TEST_CASE("an object whose writer keeps it open is sealed, and is not evicted") {
  Objects objects;
  const DataId id = objects.make_room();
  UniqueFd file = objects.open(id, DataAccess::write);
  CHECK(std::holds_alternative<DataSealed>(objects.seal(id)));
  for (int others = 0; others < 3; ++others) objects.make();
  CHECK(objects.used() == 64_KiB);
  objects.make();  // an unnamed one goes for it
  CHECK(objects.data.book().contains(id));
  objects.data.obey(DropData{id});
  CHECK(objects.used() == 64_KiB);
  file.reset();
  CHECK(objects.used() == 48_KiB);
}

TEST_CASE("a room that is given up is charged until its writer has let go of it") {
  Objects objects;
  const DataId id = objects.make_room();
  UniqueFd file = objects.open(id, DataAccess::write);
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  REQUIRE(page != MAP_FAILED);
  file.reset();
  const ControlMessage answer = objects.seal(id);
  REQUIRE(std::holds_alternative<DataDropped>(answer));
  CHECK(std::get<DataDropped>(answer).reason == DataEnd::unfinished);
  CHECK(objects.used() == 16_KiB);
  ::munmap(page, 4096);
  CHECK(objects.used() == 0_B);
}

TEST_CASE("one that several use is looked at when the last of them goes") {
  Objects objects;
  const DataId id = objects.make();
  const auto taken = objects.data.take(id, ::geteuid());
  REQUIRE(taken.has_value());
  UniqueFd file = objects.open(id, DataAccess::read);
  objects.data.stop_reading(id);
  objects.data.obey(DropData{id});
  CHECK(objects.used() == 16_KiB);
  objects.data.leave(id);  // whose file is open, too
  CHECK(objects.used() == 16_KiB);
  CHECK(objects.data.book().pins(id) == 1);
}

}  // namespace
}  // namespace orchid::executor
