// What of hosts is a flow's own when they are looked at again.
#include <doctest/doctest.h>

#include <vector>

#include "flow/own_share.h"

using namespace orchid::flow;

TEST_CASE(
    "own share: what the flow itself has taken counts as free, and what others took does not") {
  const std::vector<HostSituation> first{{.name = "a", .cores = 8, .cores_free = 8, .gpus_free = 2},
                                         {.name = "b", .cores = 8, .cores_free = 4}};
  std::vector<HostSituation> now = first;
  now[0].cores_free = 2;  // six were taken
  now[0].gpus_free = 1;
  now[1].cores_free = 2;  // two were taken
  auto seen = with_own_share(first, now, {.cores = 8, .gpus = 1});
  CHECK(seen[0].cores_free == 8);
  CHECK(seen[0].cores_own == 6);
  CHECK(seen[0].gpus_free == 2);
  CHECK(seen[1].cores_free == 4);
  seen = with_own_share(first, now, {.cores = 4});  // half of what was taken
  CHECK(seen[0].cores_own == 3);
  CHECK(seen[0].cores_free == 5);
  CHECK(seen[0].gpus_free == 1);
  CHECK(seen[1].cores_own == 1);
  CHECK(seen[1].cores_free == 3);
}

TEST_CASE(
    "own share: a host that has come is as it was found, and nobody has more than was taken") {
  const std::vector<HostSituation> first{{.name = "a", .cores = 8, .cores_free = 8}};
  const std::vector<HostSituation> now{{.name = "a", .cores = 8, .cores_free = 7},
                                       {.name = "new", .cores = 4, .cores_free = 3}};
  const auto seen = with_own_share(first, now, {.cores = 100});
  CHECK(seen[0].cores_own == 1);
  CHECK(seen[0].cores_free == 8);
  CHECK(seen[1].cores_own == 0);
  CHECK(seen[1].cores_free == 3);
  CHECK(with_own_share({}, now, {.cores = 5})[0].cores_free == 7);
}
