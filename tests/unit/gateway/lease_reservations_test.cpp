// How room comes together for workers that take more than comes free at once, and that nobody else
// starves over it.
#include <doctest/doctest.h>

#include <chrono>
#include <vector>

#include "call_world.h"
#include "one_job.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const HolderId keeper(100);  // a client: it keeps what it has

std::size_t reservations_in(const CallWorld& world) {
  return world.broker.reservations().all().size();
}

void wait_for_reservation(CallWorld& world) {
  for (int step = 0; step < 1'000 && reservations_in(world) == 0; ++step)
    world.step(milliseconds(100));
  REQUIRE(reservations_in(world) == 1);
}

}  // namespace

TEST_CASE("cores that come free one by one come together for a worker of several") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(1));
  world.add(wide, Shapes{{.cores = 4}}, seconds(1));
  world.join_host("here", 4);
  world.want(a, 8);  // always more than there is
  REQUIRE(world.given[a].size() == 4);
  world.want(wide, 1);
  CHECK(world.asked_back[a] == 4);
  for (int left = 4; left > 0; --left) {
    CHECK(world.given[wide].empty());
    world.give_back(a);
  }
  REQUIRE(world.given[wide].size() == 1);
  CHECK(world.lease_of(wide).cores_per_worker == 4);
  CHECK(reservations_in(world) == 0);
  // The others have their turn, and are asked as everybody is.
  CHECK(world.asked_back[wide] == 1);
  world.give_back(wide);
  CHECK(world.given[a].size() == 4);
}

TEST_CASE("holders that take turns at reserving a host keep nobody else out") {
  // Calls of the large ones last longer than a host is open at least between two reservations.
  for (const milliseconds call : {milliseconds(300), milliseconds(3'000), milliseconds(20'000)}) {
    CAPTURE(call.count());
    CallWorld world;
    world.add(a, one_core_worker(), milliseconds(500));
    world.add(wide, Shapes{{.cores = 4}}, call);
    world.add(wider, Shapes{{.cores = 3}}, call);
    world.join_host("here", 4);
    world.want(a, 4);
    world.want(wide, 2);
    world.want(wider, 2);
    world.run(40 * call + seconds(60));
    for (const HolderId id : {a, wide, wider}) {
      CAPTURE(id.value());
      CHECK(world.callers[id].served >= 5);
      CHECK(world.callers[id].longest_wait <= 4 * call + seconds(5));
    }
  }
}

TEST_CASE("whose turn it is to reserve a host goes by the tenants' shares") {
  CallWorld world;
  const LeaseTenant rich{.uid = 1, .name = "rich"};
  const LeaseTenant poor{.uid = 2, .name = "poor"};
  world.add(a, one_core_worker(), seconds(1), rich);
  world.join_host("here", 4);
  world.want(a, 8);
  world.add(wide, Shapes{{.cores = 2}}, seconds(1), rich);
  world.add(wider, Shapes{{.cores = 2}}, seconds(1), poor);
  world.want(wide, 1);
  world.want(wide, 0);
  REQUIRE(reservations_in(world) == 0);  // everybody has his turn first
  world.want(wide, 1);                   // so both wait before it is decided between them
  world.pass(milliseconds(10));
  world.want(wider, 1);
  world.pass(seconds(2));
  REQUIRE(reservations_in(world) == 1);
  CHECK(world.broker.reservations().all().at("here").holder == wider);
}

TEST_CASE("who has waited longer for a single core comes before a reservation") {
  CallWorld world;
  world.add(b, one_core_worker(), seconds(1));
  world.add(a, one_core_worker(), seconds(1));
  world.add(wide, Shapes{{.cores = 2}}, seconds(1));
  world.join_host("here", 2);
  world.want(a, 2);
  world.want(b, 1);
  world.pass(milliseconds(10));
  world.want(wide, 1);
  CHECK(reservations_in(world) == 0);
  world.give_back(a);
  CHECK(world.given[b].size() == 1);
  world.pass(seconds(1));
  CHECK(reservations_in(world) == 1);
}

TEST_CASE("an ask-back that was lost is repeated, for what is missing then") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(1));
  world.add(wide, Shapes{{.cores = 4}}, seconds(1));
  world.join_host("here", 4);
  world.want(a, 8);
  world.want(wide, 1);
  CHECK(world.asked_back[a] == 4);
  world.asked_back.clear();
  world.pass(milliseconds(500));
  CHECK(world.asked_back[a] == 0);
  world.pass(milliseconds(500));
  CHECK(world.asked_back[a] == 4);  // in all, and not once more
  world.give_back(a);
  world.asked_back.clear();
  world.pass(seconds(1));
  CHECK(world.asked_back[a] == 3);
  for (int left = 3; left > 0; --left) world.give_back(a);
  CHECK(world.given[wide].size() == 1);
}

TEST_CASE("what is owed to nobody any more is taken back") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(1));
  world.add(wide, Shapes{{.cores = 4}}, seconds(1));
  world.join_host("here", 4);
  world.want(a, 8);
  world.want(wide, 1);
  CHECK(world.asked_back[a] == 4);
  world.want(wide, 0);
  world.pass(seconds(1));
  CHECK(world.asked_back[a] == 0);
}

TEST_CASE("a host is kept free only as long as that is wanted") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(1));
  world.add(wide, Shapes{{.cores = 2}}, seconds(1));
  world.join_host("here", 2);
  world.want(a, 4);
  world.want(wide, 1);
  world.give_back(a);
  CHECK(world.given[a].size() == 1);
  CHECK(world.given[wide].empty());
  const auto refusal = world.broker.refusal_of(a);
  REQUIRE(refusal.has_value());
  CHECK(refusal->message.find("reserved for another worker") != std::string::npos);
  world.want(wide, 0);  // its call was cancelled
  CHECK(world.given[a].size() == 2);
  world.want(wide, 1);
  CHECK(reservations_in(world) == 0);  // the others first
  world.pass(seconds(1));
  CHECK(reservations_in(world) == 1);
}

TEST_CASE("a reservation that calls outlast is over after 30 s, and twice as long the next time") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(50));
  world.add(wide, Shapes{{.cores = 2}}, seconds(1));
  world.join_host("here", 2);
  world.want(a, 4);
  world.step(milliseconds(100));
  world.want(wide, 1);
  REQUIRE(reservations_in(world) == 1);
  world.run(seconds(29));
  CHECK(reservations_in(world) == 1);
  world.run(seconds(1));
  CHECK(reservations_in(world) == 0);
  const MonotonicTime ended = world.now;
  world.callers[a].call = seconds(100);
  wait_for_reservation(world);
  CHECK(world.now - ended >= seconds(29));  // everybody else has had as much time
  const auto& again = world.broker.reservations().all().begin()->second;
  CHECK(again.until - again.began == seconds(60));
  world.callers[a].call = seconds(50);
  world.run(seconds(600));
  CHECK(world.callers[wide].served > 0);
}

TEST_CASE("who has nothing and has waited longer does not wait for a reservation to end") {
  const LeaseTenant rich{.uid = 1, .name = "rich"};
  const LeaseTenant poor{.uid = 2, .name = "poor"};
  const HolderId c(3);
  CallWorld world;
  world.join_host("here", 2);
  world.add(a, one_core_worker(), seconds(3'000), rich);
  world.add(b, one_core_worker(), seconds(3'000), rich);
  world.add(c, one_core_worker(), seconds(3'000), rich);
  world.add(wide, Shapes{{.cores = 2}}, seconds(1), poor);
  world.want(a, 2);
  world.want(b, 1);
  world.run(seconds(20));
  world.want(wide, 1);
  REQUIRE(reservations_in(world) == 1);
  world.want(c, 1);
  world.give_back(a);  // one core is free, and kept so for the large one
  CHECK(world.given[b].empty());
  world.run(seconds(9));
  CHECK(world.given[b].empty());
  world.run(seconds(2));
  CHECK(world.given[b].size() == 1);
  REQUIRE(reservations_in(world) == 1);
  CHECK(world.given[c].empty());  // it came later than the large one
  world.run(seconds(25));
  CHECK(reservations_in(world) == 0);
}

TEST_CASE("a large worker has its turn beside more single-core callers than there are cores") {
  constexpr seconds call(60);
  CallWorld world;
  world.join_host("here", 4);
  world.add(wide, Shapes{{.cores = 4}}, call);
  std::vector<HolderId> callers;
  for (unsigned number = 0; number < 8; ++number) {
    callers.emplace_back(200 + number);
    world.add(callers.back(), one_core_worker(), call);
    world.want(callers.back(), 1);
  }
  world.step(milliseconds(100));
  world.want(wide, 1);
  world.run(std::chrono::hours(1));
  CHECK(world.callers[wide].served >= 5);
  CHECK(world.callers[wide].longest_wait <= 10 * call);
  for (const HolderId id : callers) {
    CAPTURE(id.value());
    CHECK(world.callers[id].served >= 5);
    CHECK(world.callers[id].longest_wait <= 10 * call);
  }
}

TEST_CASE("one that has a host reserved is also given what nobody wants elsewhere") {
  CallWorld world;
  world.join_host("here", 4);
  world.add(a, one_core_worker(), seconds(1));
  world.want(a, 8);
  world.join_host("there", 4);
  world.want(a, 4);
  for (int left = 4; left > 0; --left) world.give_back_at(a, "there");
  world.add(b, Shapes{{.cores = 4}}, seconds(1));
  world.want(b, 1);
  world.want(b, 0);
  REQUIRE(world.given[b].size() == 1);
  world.want(a, 8);
  world.add(wide, Shapes{{.cores = 4}}, seconds(1));
  world.want(wide, 2);
  CHECK(world.asked_back[b] == 1);
  CHECK(world.asked_back[a] == 4);
  CHECK(reservations_in(world) == 2);
  world.give_back(b);
  CHECK(world.given_at(wide, "there") == 1);
  for (int left = 4; left > 0; --left) world.give_back_at(a, "here");
  CHECK(world.given_at(wide, "here") == 1);
}

TEST_CASE("a host is reserved for one holder at a time") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(1));
  world.join_host("here", 4);
  world.want(a, 8);
  world.add(wide, Shapes{{.cores = 2}}, seconds(1));
  world.add(wider, Shapes{{.cores = 2}}, seconds(1));
  world.want(wide, 1);
  world.want(wider, 1);
  REQUIRE(reservations_in(world) == 1);
  CHECK(world.broker.reservations().all().at("here").holder == wide);
}

TEST_CASE("a client's workers of several cores come side by side") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(1));
  for (const char* host : {"here", "h2", "h3", "h4"}) world.join_host(host, 4);
  world.want(a, 20);
  REQUIRE(world.given[a].size() == 16);
  world.add_client(keeper, {.cores = 4}, 2);
  CHECK(reservations_in(world) == 2);
  CHECK(world.asked_back[a] == 8);
  std::vector<std::string> hosts;
  for (const auto& [boot_id, reservation] : world.broker.reservations().all())
    hosts.push_back(boot_id);
  for (int core = 0; core < 4; ++core)
    for (const std::string& host : hosts) world.give_back_at(a, host);
  CHECK(world.given[keeper].size() == 2);

  // And several on one host.
  CallWorld one;
  one.add(a, one_core_worker(), seconds(1));
  one.join_host("here", 16);
  one.want(a, 20);
  one.add_client(keeper, {.cores = 4}, 2);
  CHECK(one.asked_back[a] == 8);
  for (int core = 0; core < 8; ++core) one.give_back(a);
  CHECK(one.given[keeper].size() == 2);
  CHECK(one.given[a].size() == 8);
}

TEST_CASE("of two hosts of one name that which is reserved is closed, and the other one is not") {
  CallWorld world;
  world.join_host("here", 4);
  world.join_host("there", 4);
  world.add(a, one_core_worker(), seconds(1));
  world.want(a, 10);
  REQUIRE(world.given[a].size() == 8);
  world.add(wide, Shapes{{.cores = 4}}, seconds(1));
  world.want(wide, 1);
  REQUIRE(reservations_in(world) == 1);
  const std::string closed = world.broker.reservations().all().begin()->first;
  const std::string open = closed == "here" ? "there" : "here";
  world.give_back_at(a, closed);
  CHECK(world.given_at(a, closed) == 3);
  world.give_back_at(a, open);
  CHECK(world.given_at(a, open) == 4);
  for (int left = 3; left > 0; --left) world.give_back_at(a, closed);
  CHECK(world.given_at(wide, closed) == 1);
}

TEST_CASE("no host is reserved that can never have room for the worker") {
  SUBCASE("a client has the memory") {
    CallWorld world;
    world.join_host("here", 6, 0, 8_GiB);
    world.add_client(keeper, {.cores = 1, .memory = 6_GiB}, 1);
    world.add(a, Shapes{{.cores = 1, .memory = 16_MiB}}, seconds(1));
    world.want(a, 5);
    world.add(wide, Shapes{{.cores = 4, .memory = 4_GiB}}, seconds(1));
    world.want(wide, 1);
    CHECK(reservations_in(world) == 0);
    CHECK(world.asked_back[a] == 0);
  }
  SUBCASE("a client has cores through another executor of the host") {
    CallWorld world;
    world.join_host("here", 4);
    world.join(e1, 4);
    world.add_client(keeper, {.cores = 1}, 1);
    world.add(a, one_core_worker(), seconds(1));
    world.want(a, 4);
    REQUIRE(world.given[a].size() == 3);
    world.add(wide, Shapes{{.cores = 4}}, seconds(1));
    world.want(wide, 1);
    CHECK(reservations_in(world) == 0);
    CHECK(world.asked_back[a] == 0);
    world.add(wider, Shapes{{.cores = 3}}, seconds(1));
    world.want(wider, 1);
    CHECK(reservations_in(world) == 1);  // that is possible
    CHECK(world.asked_back[a] == 3);
  }
  SUBCASE("a batch job has cores of it") {
    OneJob job;
    CallWorld world({.knowledge = &job});
    job.cores = {0};
    world.join_host("here", 4);
    world.add(a, one_core_worker(), seconds(1));
    world.want(a, 4);
    REQUIRE(world.given[a].size() == 3);
    world.add(wide, Shapes{{.cores = 4}}, seconds(1));
    world.want(wide, 1);
    CHECK(reservations_in(world) == 0);
    CHECK(world.asked_back[a] == 0);
  }
  SUBCASE("its other half is a client's for good, and the reservation ends when that shows") {
    CallWorld world;
    world.join_host("here", 4);
    world.add(a, one_core_worker(), seconds(1));
    world.want(a, 4);
    world.add(wide, Shapes{{.cores = 4}}, seconds(1));
    world.want(wide, 1);
    REQUIRE(reservations_in(world) == 1);
    world.broker.executor_said(ExecutorId("on-here"), GrantChanged{.cores = {0, 1, 2}}, world.now);
    world.pass(seconds(1));
    CHECK(reservations_in(world) == 0);
  }
}

TEST_CASE("no host is reserved for what an executor has that is away") {
  CallWorld world;
  world.join_host("here", 4);
  world.join(e1, 4);  // offers the same cores
  world.add(a, one_core_worker(), seconds(1));
  world.want(a, 4);
  REQUIRE(world.given[a].size() == 4);
  world.broker.executor_lost(world.given_at(a, "here") > 0 ? ExecutorId("on-here") : e1, world.now);
  world.perform();
  world.add(wide, Shapes{{.cores = 4}}, seconds(1));
  world.want(wide, 1);
  CHECK(reservations_in(world) == 0);
}

TEST_CASE("a failed reservation counts as long as its worker is wanted") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(500));
  world.add(wide, Shapes{{.cores = 2}}, seconds(1));
  world.join_host("here", 2);
  world.want(a, 4);
  world.step(milliseconds(100));
  world.want(wide, 1);
  world.run(seconds(31));
  REQUIRE(reservations_in(world) == 0);
  world.want(wide, 0);
  world.run(seconds(60));
  world.want(wide, 1);
  REQUIRE(reservations_in(world) == 1);
  const auto& again = world.broker.reservations().all().begin()->second;
  CHECK(again.until - again.began == seconds(30));
}

TEST_CASE("a reservation ends when its tenant's quota is used up") {
  const LeaseTenant ada{.uid = 1, .name = "ada"};
  CallWorld world({.tenants = {{"ada", {.quota = {.cores = 4}}}}});
  world.add(a, one_core_worker(), seconds(500));
  world.join_host("here", 4);
  world.want(a, 6);
  world.add(wide, Shapes{{.cores = 4}}, seconds(1), ada);
  world.want(wide, 1);
  REQUIRE(reservations_in(world) == 1);
  world.add(b, one_core_worker(), seconds(500), ada);
  world.want(b, 1);
  world.join_host("there", 1);
  REQUIRE(world.given[b].size() == 1);
  world.pass(seconds(2));
  CHECK(reservations_in(world) == 0);
}

TEST_CASE("memory comes together like cores") {
  CallWorld world;
  world.join_host("here", 8, 0, 8_GiB);
  world.add(a, Shapes{{.cores = 1, .memory = 2_GiB}}, seconds(1));
  world.want(a, 8);
  REQUIRE(world.given[a].size() == 4);
  world.add(wide, Shapes{{.cores = 1, .memory = 5_GiB}}, seconds(1));
  world.want(wide, 1);
  CHECK(world.asked_back[a] == 3);
  for (int worker = 0; worker < 3; ++worker) world.give_back(a);
  CHECK(world.given[wide].size() == 1);
}

TEST_CASE("of places that are not alike each is counted with the cores that it has") {
  CallWorld world;
  world.join_host("here", 5, 2);
  world.add(a, Shapes{{.cores = 1, .gpus = 1}, {.cores = 3}}, seconds(1));
  world.want(a, 3);
  REQUIRE(world.given[a].size() == 3);  // of 1, 1 and 3 cores
  SUBCASE("the largest is enough") {
    world.add(wide, Shapes{{.cores = 3}}, seconds(1));
    world.want(wide, 1);
    CHECK(world.asked_back[a] == 1);
  }
  SUBCASE("it is not") {
    world.add(wide, Shapes{{.cores = 5}}, seconds(1));
    world.want(wide, 1);
    CHECK(world.asked_back[a] == 3);
  }
  SUBCASE("one of one core is not enough") {
    world.want(a, 2);
    world.give_back_at(a, "here");  // the first: one with a GPU
    world.add(b, one_core_worker(), seconds(1));
    world.want(b, 1);
    world.add(wide, Shapes{{.cores = 4}}, seconds(1));
    world.want(wide, 1);
    CHECK(world.asked_back[a] + world.asked_back[b] == 2);
  }
}

TEST_CASE("as many places are asked back as it takes with the cores that they have") {
  CallWorld world;
  world.join_host("here", 2, 2);
  world.add(a, Shapes{{.cores = 1, .gpus = 1}, {.cores = 3}}, seconds(1));
  world.want(a, 2);
  REQUIRE(world.given[a].size() == 2);
  world.add(wide, Shapes{{.cores = 2}}, seconds(1));
  world.want(wide, 1);
  CHECK(world.asked_back[a] == 2);
}

TEST_CASE("nobody gives so many cores that it is poorer than who gets them") {
  CallWorld world;
  world.add(a, one_core_worker(), seconds(1));
  world.add(wide, Shapes{{.cores = 2}}, seconds(1));
  world.join_host("here", 6);
  world.want(wide, 1);
  world.want(a, 8);
  REQUIRE(world.given[a].size() == 4);
  world.want(wide, 2);
  CHECK(world.asked_back[a] == 0);  // four each would be two for the other
  CHECK(world.given[wide].size() == 1);
}

}  // namespace orchid::gateway
