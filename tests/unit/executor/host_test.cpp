#include "topology/host.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace orchid::executor {

TEST_CASE("the host is described") {
  const auto host = discover_host();
  REQUIRE(host.has_value());
  CHECK(host->boot_id.size() == 36);
  CHECK_FALSE(host->hostname.empty());
  CHECK_FALSE(host->architecture.empty());
  CHECK(host->memory > 64_MiB);
  CHECK_FALSE(host->cores.empty());
}

TEST_CASE("the machine's threads are told core by core, whatever their numbers are") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Two sockets of two cores of two threads, whose numbers run over cores first.
    ::setenv("HWLOC_SYNTHETIC", "pack:2 numa:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", 1);
    const auto host = discover_host();
    const std::vector<std::uint32_t> order{0, 4, 1, 5, 2, 6, 3, 7};
    const std::vector<std::uint32_t> nodes{0, 0, 0, 0, 1, 1, 1, 1};
    ::_exit(host && host->thread_order == order && host->thread_numa_nodes == nodes ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("only the cores of the affinity mask are offered") {
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof(all), &all) == 0);
  int core = 0;
  while (!CPU_ISSET(static_cast<unsigned>(core), &all)) ++core;
  const pid_t pid = ::fork();
  if (pid == 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(core), &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    const auto host = discover_host();
    ::_exit(host && host->cores == std::vector<std::uint32_t>{static_cast<std::uint32_t>(core)}
                ? 0
                : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace orchid::executor
