// Copies on their way between executors that say what the test says.
#include "data/data_copies.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "foundation/random.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

constexpr uid_t anna = 1000;
const ExecutorId first("e1");
const ExecutorId second("e2");
const ExecutorId target("e3");

struct CopyWorld {
  explicit CopyWorld(DataCopies::Options options = {})
      : copies(
            data, [this](const ExecutorId& id) { return !silent.contains(id); }, options,
            [this](const ExecutorId& from, const ExecutorId&) {
              const auto known = distances.find(from);
              return known == distances.end() ? Distance::elsewhere : known->second;
            }) {}

  /// An object that these have.
  DataId put(const std::vector<ExecutorId>& holders, std::uint64_t bytes = 100) {
    const DataId id = (*data.make_room({.id = make_data_id(),
                                        .tenant = {.uid = anna, .name = "anna"},
                                        .bytes = ByteCount{bytes},
                                        .name = "x" + std::to_string(++named),
                                        .secret = "s"},
                                       now))
                          ->id;
    data.put_room(id, {holders.front(), "n1"});
    DataDrops drops;
    REQUIRE(data.begin_to_seal(id, drops).value());
    REQUIRE(data.publish(id, drops, now).has_value());
    for (std::size_t i = 1; i < holders.size(); ++i) {
      REQUIRE(data.begin_copy(id, {holders[i], "n2"}).has_value());
      REQUIRE(data.finish_copy(id, holders[i]));
    }
    return id;
  }
  template <typename Action>
  Action next() {
    if (pending.empty()) pending = copies.take_actions();
    REQUIRE_FALSE(pending.empty());
    const auto* action = std::get_if<Action>(&pending.front());
    REQUIRE(action != nullptr);
    Action taken = *action;
    pending.erase(pending.begin());
    return taken;
  }
  [[nodiscard]] bool is_quiet() { return pending.empty() && copies.take_actions().empty(); }
  /// One that is moving to `target`.
  FetchCopy begin_to_move(DataId id) {
    REQUIRE(copies.begin(id, {target, "n3"}, now).has_value());
    CHECK(next<MakeCopyRoom>().to == target);
    copies.made(target, id, now);
    return offer();
  }
  FetchCopy offer() {
    const auto offer = next<OfferCopy>();
    copies.offered(offer.from, offer.transfer, offer.from.value() + ":7000", now);
    auto fetch = next<FetchCopy>();
    CHECK(fetch.to == target);
    CHECK(fetch.transfer == offer.transfer);
    CHECK(fetch.key == offer.key);
    CHECK(fetch.address == offer.from.value() + ":7000");
    return fetch;
  }
  std::optional<Failure> failure() {
    const auto ended = copies.take_ended();
    REQUIRE(ended.size() == 1);
    CHECK(ended.front().to == target);
    return ended.front().why;
  }

  DataCatalogue data{{}};
  std::set<ExecutorId> silent;
  std::map<ExecutorId, Distance> distances;  // to the target; others are elsewhere
  DataCopies copies;
  std::vector<CopyAction> pending;
  MonotonicTime now{std::chrono::hours(1)};
  unsigned named = 0;
};

const Failure broken{ErrorCode::unreachable, "the connection has broken"};

}  // namespace

TEST_CASE("a copy is charged where it is written, and is one more when it is sealed there") {
  CopyWorld world;
  const DataId id = world.put({first});
  const FetchCopy fetch = world.begin_to_move(id);
  CHECK(world.data.used_at(target) == ByteCount{100});
  CHECK(world.data.sealed(id)->holders.size() == 1);
  world.copies.fetched(target, fetch.transfer, world.now);
  CHECK(world.next<SealCopy>().to == target);
  CHECK(world.copies.sealed(target, id));
  CHECK_FALSE(world.failure().has_value());
  CHECK(world.data.sealed(id)->holders.size() == 2);
  CHECK(world.data.used_at(target) == ByteCount{100});
  CHECK(world.data.used_by(anna) == ByteCount{100});  // whose object is one, however many copies
  CHECK(world.copies.under_way() == 0);
}

TEST_CASE("a copy comes from the nearest holder, and from the next one when that fails") {
  const ExecutorId third("e4");
  CopyWorld world;
  const DataId id = world.put({first, second, third});
  world.distances = {{second, Distance::cluster}, {third, Distance::machine}};
  REQUIRE(world.copies.begin(id, {target, "n3"}, world.now).has_value());
  static_cast<void>(world.next<MakeCopyRoom>());
  world.copies.made(target, id, world.now);
  const auto nearest = world.next<OfferCopy>();
  CHECK(nearest.from == third);
  world.copies.not_offered(third, nearest.transfer, broken, world.now);
  static_cast<void>(world.next<EndTransfer>());
  CHECK(world.next<OfferCopy>().from == second);
}

TEST_CASE("one machine is nearer than one cluster, and what has no cluster is in none") {
  Executor left{.id = first};
  Executor right{.id = second};
  left.host.boot_id = "one";
  right.host.boot_id = "other";
  CHECK(distance_between(left, right) == Distance::elsewhere);
  left.grant.cluster = right.grant.cluster = "alps";
  CHECK(distance_between(left, right) == Distance::cluster);
  right.grant.cluster = "jura";
  CHECK(distance_between(left, right) == Distance::elsewhere);
  right.host.boot_id = "one";
  CHECK(distance_between(left, right) == Distance::machine);
  CHECK(Distance::machine < Distance::cluster);
}

TEST_CASE("there is one copy at a time on its way to an executor, and none to a holder") {
  CopyWorld world;
  const DataId id = world.put({first});
  (void)world.begin_to_move(id);
  CHECK(world.copies.begin(id, {target, "n3"}, world.now).error().code == ErrorCode::conflict);
  CHECK(world.copies.begin(id, {first, "n1"}, world.now).error().code == ErrorCode::conflict);
  CHECK(world.copies.begin(make_data_id(), {target, "n3"}, world.now).error().code ==
        ErrorCode::not_found);
}

TEST_CASE("when its sender is lost, another holder goes on") {
  CopyWorld world;
  const DataId id = world.put({first, second});
  const FetchCopy fetch = world.begin_to_move(id);
  world.copies.not_fetched(target, fetch.transfer, ByteCount{40}, broken, world.now);
  CHECK(world.next<EndTransfer>().at == first);
  CHECK(world.next<EndTransfer>().at == target);
  CHECK(world.copies.progress(id, target)->have == ByteCount{40});
  const FetchCopy again = world.offer();
  CHECK(again.transfer != fetch.transfer);
  CHECK(again.key != fetch.key);
  // What is said of the first one is not heard any more.
  world.copies.fetched(target, fetch.transfer, world.now);
  CHECK(world.is_quiet());
  world.copies.fetched(target, again.transfer, world.now);
  CHECK(world.next<SealCopy>().data == id);
}

TEST_CASE("a sender whose connection breaks, or who has the object no more, is left at once") {
  for (const bool drops : {true, false}) {
    CAPTURE(drops);
    CopyWorld world;
    const DataId id = world.put({first, second});
    const FetchCopy fetch = world.begin_to_move(id);
    CHECK(fetch.address == "e1:7000");
    if (drops)
      world.data.dropped(first, id, DataEnd::evicted);
    else
      world.silent.insert(first);
    world.copies.tick(world.now);
    CHECK(world.next<EndTransfer>().at == first);
    CHECK(world.next<EndTransfer>().at == target);
    // The receiver says how much has come, which is not fetched again.
    CHECK(world.is_quiet());
    world.copies.not_fetched(target, fetch.transfer, ByteCount{40}, broken, world.now);
    CHECK(world.copies.progress(id, target)->have == ByteCount{40});
    CHECK(world.offer().address == "e2:7000");
  }
}

TEST_CASE("a receiver that does not say how much has come is not waited for for ever") {
  CopyWorld world;
  const DataId id = world.put({first, second});
  const FetchCopy fetch = world.begin_to_move(id);
  world.silent.insert(first);
  world.copies.tick(world.now);
  CHECK(world.next<EndTransfer>().at == first);
  CHECK(world.next<EndTransfer>().at == target);
  world.now += seconds(5);
  world.copies.tick(world.now);
  CHECK(world.offer().address == "e2:7000");
  world.copies.fetched(target, fetch.transfer, world.now);  // of the first one, too late
  CHECK(world.is_quiet());
}

TEST_CASE("holders are tried anew when a good part has come, and not for each byte") {
  CopyWorld world;
  const DataId id = world.put({first}, 1600);
  FetchCopy fetch = world.begin_to_move(id);
  std::uint64_t have = 0;
  for (const std::uint64_t step : {100U, 101U, 100U}) {
    have += step;
    world.copies.not_fetched(target, fetch.transfer, ByteCount{have}, broken, world.now);
    CHECK(world.next<EndTransfer>().at == first);
    CHECK(world.next<EndTransfer>().at == target);
    fetch = world.offer();
  }
  world.copies.not_fetched(target, fetch.transfer, ByteCount{have + 1}, broken, world.now);
  CHECK(world.failure()->message == broken.message);
}

TEST_CASE("holders that fail again and again are not asked for ever, and the last reason is told") {
  CopyWorld world;
  const DataId id = world.put({first, second});
  REQUIRE(world.copies.begin(id, {target, "n3"}, world.now).has_value());
  (void)world.next<MakeCopyRoom>();
  world.copies.made(target, id, world.now);
  std::multiset<ExecutorId> asked;
  while (world.copies.under_way() != 0) {
    const auto offer = world.next<OfferCopy>();
    asked.insert(offer.from);
    world.copies.not_offered(offer.from, offer.transfer, {ErrorCode::system, "no sockets"},
                             world.now);
    CHECK(world.next<EndTransfer>().at == offer.from);
  }
  CHECK(asked == std::multiset<ExecutorId>{first, first, second, second});
  CHECK(world.failure()->message == "no sockets");
  const DataDrops drops = world.copies.take_drops();
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().executor == target);
  CHECK(world.data.used_at(target) == ByteCount{});
}

TEST_CASE("a copy ends when its object is deleted, and both ends are told") {
  CopyWorld world;
  const DataId id = world.put({first});
  (void)world.begin_to_move(id);
  const auto drops = world.data.remove(anna, {.id = id}, {}, world.now);
  REQUIRE(drops.has_value());
  std::set<ExecutorId> told;
  for (const DataDrop& drop : *drops) told.insert(drop.executor);
  CHECK(told == std::set{first, target});
  world.copies.tick(world.now);
  CHECK(world.next<EndTransfer>().at == first);
  CHECK(world.next<EndTransfer>().at == target);
  CHECK(world.failure()->code == ErrorCode::data_lost);
  CHECK(world.copies.take_drops().empty());
}

TEST_CASE("when the only holder is lost in the middle, nothing of the object is left anywhere") {
  CopyWorld world;
  const DataId id = world.put({first});
  const FetchCopy fetch = world.begin_to_move(id);
  world.data.executor_gone(first);
  world.copies.tick(world.now);
  CHECK(world.data.take_orphans().empty());  // all may have come
  world.copies.not_fetched(target, fetch.transfer, ByteCount{99}, broken, world.now);
  const DataDrops orphans = world.data.take_orphans();
  REQUIRE(orphans.size() == 1);
  CHECK(orphans.front().executor == target);
  CHECK(world.failure()->code == ErrorCode::data_lost);
  const auto found = world.data.find(anna, {.id = id}, world.now);
  CHECK(found.error().code == ErrorCode::data_lost);
  CHECK(found.error().message.find("n1") != std::string::npos);  // where it was last
}

TEST_CASE("when the only holder goes after the last byte has come, the copy is the object") {
  for (const bool is_known : {true, false}) {
    CAPTURE(is_known);
    CopyWorld world;
    const DataId id = world.put({first});
    const FetchCopy fetch = world.begin_to_move(id);
    if (is_known) world.copies.fetched(target, fetch.transfer, world.now);
    world.data.executor_gone(first);
    world.copies.tick(world.now);
    if (!is_known) world.copies.fetched(target, fetch.transfer, world.now);
    world.pending = world.copies.take_actions();
    std::erase_if(world.pending, [](const CopyAction& action) {
      return std::holds_alternative<EndTransfer>(action);
    });
    CHECK(world.next<SealCopy>().to == target);
    CHECK(world.data.sealed(id)->holders.empty());
    CHECK(world.copies.sealed(target, id));
    CHECK_FALSE(world.failure().has_value());
    REQUIRE(world.data.sealed(id)->holders.size() == 1);
    CHECK(world.data.sealed(id)->holders.front().executor == target);
    CHECK(world.data.take_orphans().empty());
  }
}

TEST_CASE("an object whose last copy cannot be sealed is lost after all") {
  for (const bool answers : {true, false}) {
    CAPTURE(answers);
    CopyWorld world;
    const DataId id = world.put({first});
    const FetchCopy fetch = world.begin_to_move(id);
    world.copies.fetched(target, fetch.transfer, world.now);
    world.data.executor_gone(first);
    if (answers) world.data.dropped(target, id, DataEnd::unfinished);
    world.now += seconds(10);
    world.copies.tick(world.now);
    const auto found = world.data.find(anna, {.id = id}, world.now);
    CHECK(found.error().code == ErrorCode::data_lost);
    CHECK(found.error().message.find("n1") != std::string::npos);
    CHECK(world.copies.under_way() == 0);
    CHECK(world.data.used_at(target) == ByteCount{});
  }
}

TEST_CASE("what has no room, or no answer, ends with the reason") {
  CopyWorld world;
  const DataId id = world.put({first});
  REQUIRE(world.copies.begin(id, {target, "n3"}, world.now).has_value());
  world.copies.refused(target, id, {ErrorCode::no_data_memory, "full"});
  CHECK(world.failure()->code == ErrorCode::no_data_memory);
  CHECK(world.copies.take_drops().size() == 1);
  world.data.dropped(target, id, DataEnd::deleted);

  REQUIRE(world.copies.begin(id, {target, "n3"}, world.now).has_value());
  world.now += seconds(5);
  world.copies.tick(world.now);
  CHECK(world.failure()->code == ErrorCode::unreachable);
  CHECK(world.copies.take_drops().size() == 1);
  // Its room is there until it has said that it is not.
  CHECK(world.copies.begin(id, {target, "n3"}, world.now).error().code == ErrorCode::conflict);
}

TEST_CASE("a holder that does not answer is waited for, but not for ever") {
  CopyWorld world;
  const DataId id = world.put({first});
  world.silent.insert(first);
  REQUIRE(world.copies.begin(id, {target, "n3"}, world.now).has_value());
  (void)world.next<MakeCopyRoom>();
  world.copies.made(target, id, world.now);
  CHECK(world.is_quiet());
  world.now += seconds(20);
  world.copies.tick(world.now);
  CHECK(world.copies.under_way() == 1);
  world.silent.clear();
  world.copies.tick(world.now);
  (void)world.offer();
  world.silent.insert(first);
  world.copies.tick(world.now);
  world.now += seconds(5);  // for the receiver to say what it has
  world.copies.tick(world.now);
  world.now += seconds(30);
  world.copies.tick(world.now);
  CHECK(world.failure()->code == ErrorCode::unreachable);
}

TEST_CASE("an executor sends and receives so many at the same time, and the others wait") {
  CopyWorld world({.sends = 1, .receives = 2});
  std::vector<DataId> all;
  for (int i = 0; i < 3; ++i) all.push_back(world.put({first}));
  all.push_back(world.put({second}));
  all.push_back(world.put({second}));
  std::vector<OfferCopy> offers;
  const auto take_offers = [&] {
    for (const CopyAction& action : world.copies.take_actions())
      if (const auto* offer = std::get_if<OfferCopy>(&action)) offers.push_back(*offer);
  };
  for (const DataId& id : all) {
    REQUIRE(world.copies.begin(id, {target, "n3"}, world.now).has_value());
    world.copies.made(target, id, world.now);
  }
  take_offers();
  REQUIRE(offers.size() == 2);
  CHECK(offers[0].from != offers[1].from);
  world.copies.offered(offers[0].from, offers[0].transfer, "a", world.now);
  world.copies.fetched(target, offers[0].transfer, world.now);
  world.copies.tick(world.now);
  take_offers();
  REQUIRE(offers.size() == 3);
  CHECK(offers[2].from == offers[0].from);
  // However long it takes.
  world.now += seconds(600);
  world.copies.tick(world.now);
  CHECK(world.copies.under_way() == all.size() - 1);  // the seal was not answered
}

TEST_CASE("a copy to an executor that begins anew is none any more") {
  CopyWorld world;
  const DataId id = world.put({first});
  const FetchCopy fetch = world.begin_to_move(id);
  const DataDrops drops = world.data.executor_joined({target, "n3"}, {}, std::nullopt, world.now);
  CHECK(drops.empty());
  world.copies.fetched(target, fetch.transfer, world.now);
  world.copies.tick(world.now);
  CHECK(world.failure()->code == ErrorCode::unreachable);
  CHECK(world.copies.take_drops().empty());
  CHECK(world.data.sealed(id)->holders.size() == 1);
}

}  // namespace orchid::gateway
