// Where Orchid runs: other users' Orchids, long paths, names that do not resolve, few cores.
#include <sched.h>

#include <fstream>

#include "system_fixture.h"

namespace orchid::tests {
namespace {

/// A zombie has ended; its new parent just has not asked yet.
bool is_running(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.at(name_end + 2) != 'Z';
}

}  // namespace

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
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (const pid_t process : family) {
    while (is_running(process) && std::chrono::steady_clock::now() < give_up) {
    }
    CHECK_FALSE(is_running(process));
  }
}

}  // namespace orchid::tests
