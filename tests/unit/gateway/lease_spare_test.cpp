// Workers that nobody wants yet: they are taken ahead of calls, and stand in nobody's way.
#include <doctest/doctest.h>

#include "broker_world.h"
#include "leases/worker_broker.h"
#include "worker_requests.h"

namespace orchid::gateway {
namespace {

TEST_CASE("a spare worker is one of a free place, and one at a time") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 3);
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].size() == 1);
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].size() == 1);
  world.want(a, 1);  // it is wanted now
  CHECK(world.given[a].size() == 1);
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].size() == 2);
}

TEST_CASE("a spare worker is asked back as soon as somebody wants its place") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {});
  world.join(e1, 2);
  world.want(a, 1);
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].size() == 2);
  CHECK(world.asked_back[a] == 0);
  world.want(b, 1);
  CHECK(world.asked_back[a] == 1);
}

TEST_CASE("there is no spare worker where somebody waits, or no place is free; nor does it count") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {});
  world.join(e1, 1);
  world.want(b, 2);  // one more than there is
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].empty());
  world.want(b, 1);
  const auto before = world.broker.demand().size();
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].empty());
  CHECK(world.refused[a].empty());
  CHECK(world.asked_back[b] == 0);
  CHECK(world.broker.demand().size() == before);
}

}  // namespace
}  // namespace orchid::gateway
