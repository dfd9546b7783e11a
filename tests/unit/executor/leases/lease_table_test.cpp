#include "leases/lease_table.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace orchid::executor {

using namespace std::chrono_literals;

namespace {

const std::string secret(64, 'a');

OpenLease request(std::uint64_t number, std::uint32_t workers = 1, std::uint64_t epoch = 1) {
  return {.lease = {epoch, number}, .secret = secret, .tenant = {1000, "u"}, .workers = workers};
}

OpenLease client_request(std::uint64_t number, std::chrono::milliseconds duration) {
  OpenLease open = request(number);
  open.client = {.client_lease = {1, 100}, .wait = WaitMode::hot, .expires_in = duration};
  return open;
}

}  // namespace

TEST_CASE("cores are handed out until none is left, and come back") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  CHECK(table.open(request(1, 3), now).has_value());
  CHECK(table.cores_free() == 1);
  CHECK(table.open(request(2, 2), now).error().code == ErrorCode::no_capacity);
  CHECK(table.open(request(1, 3), now).has_value());  // the same command once more
  CHECK(table.cores_free() == 1);
  CHECK(table.close({1, 1}));
  CHECK_FALSE(table.close({1, 1}));
  CHECK(table.cores_free() == 4);
}

TEST_CASE("no two leases have one GPU") {
  LeaseTable table(first_numbers(4), {0, 2});
  const MonotonicTime now{1h};
  const auto with_gpus = [](std::uint64_t number, CoreList gpus) {
    OpenLease open = client_request(number, 1h);
    open.gpus = std::move(gpus);
    return open;
  };
  REQUIRE(table.open(with_gpus(1, {2}), now).has_value());
  CHECK(table.held_by_clients(now).at(0).gpus == CoreList{2});
  CHECK(table.open(with_gpus(2, {2}), now).error().code == ErrorCode::no_capacity);
  CHECK(table.open(with_gpus(2, {0, 2}), now).error().code == ErrorCode::no_capacity);
  CHECK(table.open(with_gpus(2, {1}), now).error().code == ErrorCode::bad_request);
  REQUIRE(table.open(with_gpus(2, {0}), now).has_value());
  CHECK(table.close({1, 1}));
  REQUIRE(table.open(with_gpus(3, {2}), now).has_value());
  CHECK(table.cores_free() == 2);
}

TEST_CASE("a GPU that cannot be used ends its leases, and goes to no other") {
  LeaseTable table(first_numbers(4), {0, 2});
  const MonotonicTime now{1h};
  const auto with_gpu = [](std::uint64_t number, std::uint32_t gpu) {
    OpenLease open = client_request(number, 1h);
    open.gpus = {gpu};
    return open;
  };
  REQUIRE(table.open(with_gpu(1, 0), now).has_value());
  REQUIRE(table.open(with_gpu(2, 2), now).has_value());
  REQUIRE(table.claim({{1, 2}, secret, 1000U, false}).has_value());
  CHECK(table.offer_gpus({0, 2}).lost.empty());

  const LeaseTable::Shrunk shrunk = table.offer_gpus({});
  REQUIRE(shrunk.closed.size() == 1);
  CHECK(shrunk.closed[0].lease == LeaseId{1, 1});
  CHECK(shrunk.closed[0].reason == LeaseEnd::reclaimed);
  CHECK(shrunk.lost == std::vector<LeaseId>{{1, 2}});
  CHECK(table.give_back({1, 2})->reason == LeaseEnd::reclaimed);
  CHECK(table.open(with_gpu(3, 0), now).error().code == ErrorCode::no_capacity);
  CHECK(table.cores_free() == 4);

  CHECK(table.offer_gpus({0}).closed.empty());
  CHECK(table.open(with_gpu(3, 0), now).has_value());
  CHECK(table.open(with_gpu(4, 2), now).error().code == ErrorCode::no_capacity);
}

TEST_CASE("a lease has the cores that it names, or else the lowest free ones") {
  LeaseTable table({2, 3, 8, 9});
  const MonotonicTime now{1h};
  const auto of_client = [](std::uint64_t number, std::uint32_t workers, CoreList cores) {
    OpenLease open = client_request(number, 1h);
    open.workers = workers;
    open.core_ids = std::move(cores);
    return open;
  };
  const auto cores_of = [&](std::uint64_t number) -> CoreList {
    for (const LeaseHeld& held : table.held_by_clients(now))
      if (held.lease.number == number) return held.core_ids;
    return {};
  };
  REQUIRE(table.open(of_client(1, 1, {3}), now).has_value());
  REQUIRE(table.open(of_client(2, 2, {}), now).has_value());
  CHECK(cores_of(1) == CoreList{3});
  CHECK(cores_of(2) == CoreList{2, 8});
  CHECK(table.cores_free() == 1);

  CHECK(table.open(of_client(3, 1, {8}), now).error().code == ErrorCode::no_capacity);
  CHECK(table.open(of_client(3, 1, {4}), now).error().code == ErrorCode::bad_request);
  CHECK(table.open(of_client(3, 1, {8, 9}), now).error().code == ErrorCode::bad_request);
  CHECK(table.open(of_client(3, 2, {}), now).error().code == ErrorCode::no_capacity);
  CHECK(table.cores_free() == 1);
  CHECK(table.close({1, 2}));
  REQUIRE(table.open(of_client(3, 2, {8, 9}), now).has_value());
  CHECK(table.cores_free() == 1);
}

TEST_CASE("a table that drains opens nothing, and one that is reclaimed says so of each end") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  REQUIRE(table.open(request(1, 2), now).has_value());
  REQUIRE(table.open(request(2), now).has_value());
  REQUIRE(table.claim({{1, 1}, secret, 1000}).has_value());
  table.drain();
  CHECK(table.open(request(3), now).error().code == ErrorCode::no_capacity);
  CHECK(table.open(request(2), now).has_value());  // the same command once more
  CHECK(table.claim({{1, 1}, secret, 1000}).has_value());

  const auto closed = table.reclaim();
  REQUIRE(closed.size() == 1);
  CHECK(closed[0].lease == LeaseId{1, 2});
  CHECK(closed[0].reason == LeaseEnd::reclaimed);
  CHECK_FALSE(table.give_back({1, 1}).has_value());
  const auto last = table.give_back({1, 1});
  REQUIRE(last.has_value());
  CHECK(last->reason == LeaseEnd::reclaimed);
  CHECK(table.cores_free() == 4);
}

TEST_CASE("a lease that has ended is not opened again, in its epoch") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  REQUIRE(table.open(request(1), now).has_value());
  CHECK(table.close({1, 1}));
  CHECK(table.open(request(1), now).error().code == ErrorCode::conflict);
  REQUIRE(table.open(request(2), now).has_value());
  CHECK(table.end_overdue(now + 11s).size() == 1);
  CHECK(table.open(request(2), now).error().code == ErrorCode::conflict);
  CHECK(table.cores_free() == 4);
  CHECK(table.begin_epoch(2, now)->empty());
  CHECK(table.open(request(1, 1, 2), now).has_value());
}

TEST_CASE("a gateway claims for its tenants with its own uid, and nobody else does") {
  LeaseTable table(first_numbers(4));
  OpenLease ours = request(1, 2);
  ours.holder_uid = 7;
  CHECK(table.open(ours, MonotonicTime{1h}).has_value());
  CHECK(table.claim({{1, 1}, secret, 7}).has_value());
  CHECK(table.claim({{1, 1}, secret, 8}).error().code == ErrorCode::denied);
  CHECK(table.claim({{1, 1}, secret, 1000}).has_value());
}

TEST_CASE("a claim needs the secret and the tenant, and there are as many as workers") {
  LeaseTable table(first_numbers(4));
  CHECK(table.open(request(1, 2), MonotonicTime{1h}).has_value());
  CHECK(table.claim({{1, 1}, std::string(64, 'b'), 1000}).error().code == ErrorCode::denied);
  CHECK(table.claim({{1, 9}, secret, 1000}).error().code == ErrorCode::denied);
  CHECK(table.claim({{1, 1}, secret, 1001}).error().code == ErrorCode::denied);
  CHECK(table.claim({{1, 1}, secret, 1000}).has_value());
  CHECK(table.claim({{1, 1}, secret, 0}).has_value());
  CHECK(table.claim({{1, 1}, secret, 1000}).error().code == ErrorCode::no_capacity);
  CHECK_FALSE(table.give_back({1, 1}).has_value());
  CHECK(table.give_back({1, 1})->reason == LeaseEnd::released);
  CHECK(table.cores_free() == 4);
}

TEST_CASE("a lease that nobody claims lapses, a claimed one does not") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  CHECK(table.open(request(1), now).has_value());
  CHECK(table.open(request(2), now).has_value());
  CHECK(table.claim({{1, 2}, secret, 1000}).has_value());
  CHECK(table.end_overdue(now + 9s).empty());
  const auto lapsed = table.end_overdue(now + 11s);
  REQUIRE(lapsed.size() == 1);
  CHECK(lapsed.front().lease == LeaseId{1, 1});
  CHECK(table.cores_free() == 3);
}

TEST_CASE("only the newest epoch is obeyed") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  CHECK(table.open(request(1), now).has_value());
  CHECK(table.begin_epoch(2, now)->size() == 1);
  CHECK(table.cores_free() == 4);
  CHECK(table.open(request(7, 1, 1), now).error().code == ErrorCode::denied);
  CHECK(table.open(request(1, 1, 2), now).has_value());
  CHECK(table.begin_epoch(2, now)->empty());
}

TEST_CASE("a client's lease ends when it is not renewed, and lasts while it is") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  REQUIRE(table.open(client_request(1, 60s), now).has_value());
  CHECK(table.claim({{1, 1}, secret, 1000}).value()->client->wait == WaitMode::hot);
  CHECK(table.end_overdue(now + 59s).empty());
  CHECK(table.renew({{1, 1}, 60s}, now + 59s));
  CHECK(table.end_overdue(now + 118s).empty());
  const auto ended = table.end_overdue(now + 119s);
  REQUIRE(ended.size() == 1);
  CHECK(ended.front().reason == LeaseEnd::expired);
  CHECK_FALSE(table.renew({{1, 1}, 60s}, now + 120s));
  CHECK(table.cores_free() == 4);
}

TEST_CASE("a gateway that starts anew ends its own leases, not those of clients") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  REQUIRE(table.open(client_request(1, 60s), now).has_value());
  REQUIRE(table.open(request(2), now).has_value());
  CHECK(table.claim({{1, 1}, secret, 1000}).has_value());
  table.lose_gateway(now + 1s);
  CHECK(*table.begin_epoch(2, now + 2s) == std::vector{LeaseId{1, 2}});
  const auto held = table.held_by_clients(now + 2s);
  REQUIRE(held.size() == 1);
  CHECK(held[0].lease == LeaseId{1, 1});
  CHECK(held[0].client.client_lease == LeaseId{1, 100});
  CHECK(held[0].client.expires_in == 58s);
  CHECK(table.renew({{1, 1}, 60s}, now + 3s));  // by its old name
  CHECK(table.close({1, 1}));
  CHECK(table.cores_free() == 4);
}

TEST_CASE("without a gateway a client that is there keeps its lease, up to the grace") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  REQUIRE(table.open(client_request(1, 60s), now).has_value());
  REQUIRE(table.open(client_request(2, 60s), now).has_value());
  CHECK(table.claim({{1, 1}, secret, 1000}).has_value());
  CHECK(table.claim({{1, 2}, secret, 1000}).has_value());
  table.lose_gateway(now + 10s);
  CHECK(table.end_overdue(now + 5min).empty());
  SUBCASE("a gateway that comes back gives time for the renewal") {
    CHECK(table.begin_epoch(1, now + 6min)->empty());
    CHECK(table.end_overdue(now + 6min + 29s).empty());
    CHECK(table.end_overdue(now + 6min + 30s).size() == 2);
  }
  SUBCASE("a client that went away has no grace") {
    CHECK(table.give_back({1, 1}).has_value());
    CHECK(table.cores_free() == 3);
  }
  SUBCASE("the grace ends") {
    CHECK(table.end_overdue(now + 10s + LeaseTable::outage_grace).size() == 2);
  }
}

TEST_CASE("a gateway of an older epoch is not obeyed") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  REQUIRE(table.begin_epoch(5, now).has_value());
  const auto refused = table.begin_epoch(4, now);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::denied);
  CHECK(refused.error().message.find("restart the executor") != std::string::npos);
  CHECK(table.begin_epoch(5, now).has_value());
}

TEST_CASE("leases on cores that are not offered any more end, and the others stay") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  for (std::uint64_t number = 1; number <= 3; ++number) {
    OpenLease open = request(number);
    open.core_ids = {static_cast<std::uint32_t>(number)};
    REQUIRE(table.open(open, now).has_value());
  }
  REQUIRE(table.claim({{1, 1}, secret, 1000}).has_value());
  REQUIRE(table.claim({{1, 2}, secret, 1000}).has_value());
  const auto shrunk = table.offer({0, 1, 9});  // 9 was never its own
  CHECK(table.cores() == CoreList{0, 1});
  CHECK(shrunk.lost == std::vector{LeaseId{1, 2}});
  REQUIRE(shrunk.closed.size() == 1);
  CHECK(shrunk.closed[0].lease == LeaseId{1, 3});
  CHECK(shrunk.closed[0].reason == LeaseEnd::reclaimed);
  CHECK(table.cores_free() == 1);

  const auto back = table.give_back({1, 2});
  REQUIRE(back.has_value());
  CHECK(back->reason == LeaseEnd::reclaimed);
  CHECK(table.give_back({1, 1})->reason == LeaseEnd::released);

  OpenLease late = request(4);
  late.core_ids = {2};
  CHECK(table.open(late, now).error().code == ErrorCode::no_capacity);  // said before it was known
  late.core_ids = {9};
  CHECK(table.open(late, now).error().code == ErrorCode::bad_request);
  CHECK(table.offer(first_numbers(4)).lost.empty());
  late.core_ids = {2};
  CHECK(table.open(late, now).has_value());
}

TEST_CASE("a core that is lost and comes back is free when its worker has left it") {
  LeaseTable table(first_numbers(2));
  const MonotonicTime now{1h};
  REQUIRE(table.open(request(1, 2), now).has_value());
  REQUIRE(table.claim({{1, 1}, secret, 1000}).has_value());
  CHECK(table.offer({0}).lost == std::vector{LeaseId{1, 1}});
  CHECK(table.offer({0, 1}).lost.empty());
  CHECK(table.cores_free() == 0);
  CHECK(table.give_back({1, 1})->reason == LeaseEnd::reclaimed);
  CHECK(table.cores_free() == 2);
}

TEST_CASE("no order of commands creates or loses a core") {
  std::mt19937 random(1);
  LeaseTable table(first_numbers(8));
  std::map<std::uint64_t, std::uint32_t> open;
  MonotonicTime now{1h};
  std::uint64_t next = 1;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t known = 1 + random() % next;
    switch (random() % 4) {
      case 0: {
        const auto workers = 1 + static_cast<std::uint32_t>(random() % 4);
        if (table.open(request(next, workers), now)) open[next] = workers;
        ++next;
        break;
      }
      case 1:
        CHECK(table.close({1, known}) == (open.erase(known) == 1));
        break;
      case 2:
        (void)table.claim({{1, known}, secret, 1000});
        break;
      default:
        now += std::chrono::milliseconds(random() % 3000);
        for (const auto& lapsed : table.end_overdue(now)) open.erase(lapsed.lease.number);
    }
    std::uint32_t used = 0;
    for (const auto& [number, workers] : open) used += workers;
    REQUIRE(table.cores_free() == 8 - used);
  }
}

TEST_CASE("a place of the gateway's has several workers, and closes with the last") {
  LeaseTable table(first_numbers(2));
  const MonotonicTime now{1h};
  REQUIRE(table.open(request(1), now).has_value());
  const LeaseTable::Claim apart{{1, 1}, secret, 1000, true};
  for (std::uint32_t i = 0; i < LeaseTable::claims_per_place; ++i)
    CHECK(table.claim(apart).has_value());
  CHECK(table.claim(apart).error().code == ErrorCode::no_capacity);
  CHECK(table.claim({{1, 1}, secret, 1000}).error().code == ErrorCode::no_capacity);
  for (std::uint32_t i = 1; i < LeaseTable::claims_per_place; ++i)
    CHECK_FALSE(table.give_back({1, 1}).has_value());
  CHECK(table.give_back({1, 1})->reason == LeaseEnd::released);
  CHECK(table.cores_free() == 2);
}

TEST_CASE("a client's lease has as many workers as it says, whatever is claimed") {
  LeaseTable table(first_numbers(2));
  const MonotonicTime now{1h};
  REQUIRE(table.open(client_request(1, 1h), now).has_value());
  CHECK(table.claim({{1, 1}, secret, 1000, true}).has_value());
  CHECK(table.claim({{1, 1}, secret, 1000, true}).error().code == ErrorCode::no_capacity);
}

TEST_CASE("a lease of separate processes is for clients that know how to use one") {
  LeaseTable table(first_numbers(4));
  const MonotonicTime now{1h};
  OpenLease open = client_request(1, 1h);
  open.client->separate_processes = true;
  REQUIRE(table.open(open, now).has_value());
  CHECK(table.held_by_clients(now).at(0).client.separate_processes);
  const auto shared = table.claim({.lease = {1, 1}, .secret = open.secret, .uid = 1000});
  REQUIRE_FALSE(shared.has_value());
  CHECK(shared.error().code == ErrorCode::unsupported);
  CHECK(table.claim({.lease = {1, 1}, .secret = open.secret, .uid = 1000, .apart = true})
            .has_value());
  // Not several of them, as for a place of the gateway's.
  CHECK(table.claim({.lease = {1, 1}, .secret = open.secret, .uid = 1000, .apart = true})
            .error()
            .code == ErrorCode::no_capacity);
}

TEST_CASE("no worker is claimed of a lease whose cores are being taken back") {
  LeaseTable table(first_numbers(2));
  const MonotonicTime now{1h};
  REQUIRE(table.open(request(1), now).has_value());
  const LeaseTable::Claim apart{{1, 1}, secret, 1000, true};
  REQUIRE(table.claim(apart).has_value());
  CHECK(table.offer({1}).lost.size() == 1);
  CHECK(table.claim(apart).error().code == ErrorCode::lease_ended);
}

}  // namespace orchid::executor
