// How much is looked at for copies that objects lack, on a site with many of them. Counted, not
// timed.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "data_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

constexpr unsigned hosts = 32;
constexpr unsigned objects_of_host = 256;
constexpr std::size_t objects = std::size_t{hosts} * objects_of_host;

ExecutorId id_of(unsigned host) { return ExecutorId("e" + std::to_string(host)); }

struct ManyObjects : DataWorld {
  /// Each object has one copy. `apart`: each host is a machine of its own.
  ManyObjects(bool apart, std::uint32_t copies) : apart_(apart) {
    for (unsigned host = 0; host < hosts; ++host) {
      std::vector<DataHeld> held(objects_of_host);
      for (DataHeld& one : held) {
        one.data = make_data_id();
        one.terms = {.tenant = {.uid = data_owner, .name = "anna"},
                     .bytes = ByteCount{10},
                     .name = {},
                     .secret = std::string(64, 's'),
                     .copies = copies};
        held_by_[host].insert(one.data);
      }
      join(executor(host), held);
    }
  }
  [[nodiscard]] Executor executor(unsigned host) const {
    const std::string name = "n" + std::to_string(host);
    Executor made = executor_on(apart_ || host >= hosts ? name : "one", name, id_of(host));
    made.copies_data = true;
    made.lane_address = "10.0.0.1:7";
    return made;
  }
  /// What one look has cost.
  DataCopyService::Work look() {
    clock.advance(seconds(1));
    const DataCopyService::Work before = service.copies().work();
    service.copies().tick(clock.now());
    return since(before);
  }
  [[nodiscard]] DataCopyService::Work since(const DataCopyService::Work& before) {
    const DataCopyService::Work& now = service.copies().work();
    return {.objects = now.objects - before.objects, .places = now.places - before.places};
  }
  /// Of these objects copies were ordered.
  [[nodiscard]] std::set<DataId> ordered() const {
    std::set<DataId> all;
    for (const auto& [to, message] : sent)
      if (const auto* room = std::get_if<MakeData>(&message)) all.insert(room->data);
    return all;
  }

  bool apart_;
  std::map<unsigned, std::set<DataId>> held_by_;
};

TEST_CASE("a wish is about its own object, however many others there are") {
  ManyObjects world(/*apart=*/true, /*copies=*/1);
  const DataId data = *world.held_by_[7].begin();
  const DataCopyService::Work before = world.service.copies().work();
  REQUIRE(world.service.copy(data_owner, {.id = data}, {.count = 2}).has_value());
  const DataCopyService::Work work = world.since(before);
  CHECK(work.objects == 1);
  CHECK(work.places == hosts);
  CHECK(world.ordered() == std::set{data});
}

TEST_CASE("a look costs the same for objects that lack nothing, however many there are") {
  ManyObjects world(/*apart=*/true, /*copies=*/1);
  const std::size_t most = DataCopyService::Options{}.one_look.objects;
  for (int looks = 0; looks < 20; ++looks) {
    const DataCopyService::Work work = world.look();
    CHECK(work.objects == most);
    CHECK(work.places == 0);
  }
}

TEST_CASE("where nothing can be copied to, looks cost no more than they may, and all have a turn") {
  ManyObjects world(/*apart=*/false, /*copies=*/2);
  const DataCopyService::Work most = DataCopyService::Options{}.one_look;
  std::size_t looked_at = 0;
  unsigned looks = 0;
  for (; looked_at < objects && looks < 100; ++looks) {
    const DataCopyService::Work work = world.look();
    CHECK(work.objects <= most.objects);
    CHECK(work.places <= most.places + hosts);
    looked_at += work.objects;
  }
  CHECK(looked_at >= objects);
  CHECK(world.ordered().empty());
  // Another machine comes, where they all could be: as many as it may receive at a time are begun.
  world.join(world.executor(hosts));
  world.look();
  CHECK(world.ordered().size() == DataCopies::Options{}.receives);
}

TEST_CASE(
    "objects of an executor that is about to go do not wait for their turn among all others") {
  ManyObjects world(/*apart=*/true, /*copies=*/1);
  const unsigned leaving = 20;
  Executor executor = world.executor(leaving);
  executor.ends = world.clock.now() + seconds(30);
  world.broker.executor_joined(executor, {}, world.clock.now());
  const DataCopyService::Work work = world.look();
  CHECK(work.objects <= objects_of_host + DataCopyService::Options{}.one_look.objects);
  const std::set<DataId> ordered = world.ordered();
  const std::set<DataId>& own = world.held_by_[leaving];
  CHECK(ordered.size() ==
        std::min<std::size_t>(objects_of_host, (hosts - 1) * DataCopies::Options{}.receives));
  CHECK(std::ranges::includes(own, ordered));
}

}  // namespace
}  // namespace orchid::gateway
