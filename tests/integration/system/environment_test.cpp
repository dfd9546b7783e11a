// Where Orchid runs: other users' Orchids, long paths, names that do not resolve, few cores.
#include <sched.h>
#include <signal.h>

#include "system_fixture.h"

namespace orchid::tests {

TEST_CASE("two Orchids run side by side") {
  SystemFixture first;
  SystemFixture second;
  CHECK(first.system().address() != second.system().address());
  first.deploy("counts_calls");
  CHECK(second.orchid({"invoke", "counts_calls"}).status == 2);
  second.deploy("counts_calls");
  first.check_next_call();
  second.check_next_call();
}

TEST_CASE("Orchid offers the cores of its affinity mask, not those of the machine") {
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof(all), &all) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (unsigned core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all)) {
      CPU_SET(core, &one);
      break;
    }
  REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
  {
    SystemFixture system;
    ::sched_setaffinity(0, sizeof(all), &all);
    const auto hosts = Json::parse(system.client().get("/v1/hosts"));
    CHECK(hosts.at("hosts").at(0).at("cores") == 1);
    system.deploy("counts_calls");
    system.check_next_call();
  }
}

TEST_CASE("nothing is left running, whichever way Orchid ends") {
  std::vector<pid_t> family;
  {
    SystemFixture system;
    family = system.system().processes();
    CHECK(family.size() >= 6);
  }
  for (const pid_t process : family) CHECK(::kill(process, 0) != 0);
}

}  // namespace orchid::tests
