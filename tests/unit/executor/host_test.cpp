#include "topology/host.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

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

/// In a process of its own, whose environment and affinity it may change.
bool in_a_child(const std::function<bool()>& holds) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(holds() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("the machine's threads are told core by core, whatever their numbers are") {
  CHECK(in_a_child([] {
    // Two sockets of two cores of two threads, whose numbers run over cores first.
    ::setenv("HWLOC_SYNTHETIC", "pack:2 numa:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", 1);
    const auto host = discover_host();
    const std::vector<std::uint32_t> order{0, 4, 1, 5, 2, 6, 3, 7};
    const std::vector<std::uint32_t> nodes{0, 0, 0, 0, 1, 1, 1, 1};
    return host && host->thread_order == order && host->thread_numa_nodes == nodes;
  }));
}

TEST_CASE("a core has its part of the last-level cache, and of a whole socket's no more than any") {
  const auto part = [](const char* machine) {
    ::setenv("HWLOC_SYNTHETIC", machine, 1);
    const auto host = discover_host();
    return host ? host->cache_per_core : ByteCount{};
  };
  CHECK(in_a_child([&] { return part("pack:1 l3:2(size=33554432) core:8 pu:1") == 4_MiB; }));
  CHECK(in_a_child([&] { return part("pack:1 l3:1(size=503316480) core:2 pu:1") == 48_MiB; }));
}

TEST_CASE("only the cores of the affinity mask are offered") {
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof(all), &all) == 0);
  int core = 0;
  while (!CPU_ISSET(static_cast<unsigned>(core), &all)) ++core;
  CHECK(in_a_child([core] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(core), &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    const auto host = discover_host();
    return host && host->cores == std::vector<std::uint32_t>{static_cast<std::uint32_t>(core)};
  }));
}

}  // namespace orchid::executor
