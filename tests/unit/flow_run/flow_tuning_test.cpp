#include "flow_run/flow_tuning.h"

#include <doctest/doctest.h>

#include <vector>

using namespace orchid::flow;

TEST_CASE("optimisers see hosts as the gateway tells of them, with what they draw") {
  const std::vector<HostSituation> hosts = host_situations(R"json({"hosts":[
    {"name":"n1","hostname":"n1.site","cluster":"moss","kind":"gpu","cores":16,"cores_usable":12,"cores_leased":4,
     "gpus_usable":2,"gpus_leased":1,"watts":85.5},
    {"hostname":"n2","cores":8,"cores_leased":2,"drained":true,"watts":-1},
    {"hostname":"n3","watts":"many"}, 7]})json");
  REQUIRE(hosts.size() == 3);
  CHECK(hosts[0].name == "n1");
  CHECK(hosts[0].kind == "gpu");
  CHECK(hosts[0].cluster == "moss");
  CHECK(hosts[1].cluster.empty());
  CHECK(hosts[0].cores_free == 8);
  CHECK(hosts[0].gpus_free == 1);
  REQUIRE(hosts[0].watts.has_value());
  CHECK(*hosts[0].watts == doctest::Approx(85.5));
  CHECK(hosts[1].cores_free == 0);
  CHECK_FALSE(hosts[1].watts.has_value());
  CHECK_FALSE(hosts[2].watts.has_value());
  CHECK(host_situations("no document").empty());
}
