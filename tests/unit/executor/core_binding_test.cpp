#include "children/core_binding.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

namespace orchid::executor {
namespace {

cpu_set_t cores_of_this_thread() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  REQUIRE(::sched_getaffinity(0, sizeof(mask), &mask) == 0);
  return mask;
}

CoreList list_of(const cpu_set_t& mask) {
  CoreList cores;
  for (std::uint32_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  return cores;
}

}  // namespace

TEST_CASE("all threads of a process are bound, and those that they make") {
  const CoreList all = list_of(cores_of_this_thread());
  const CoreList first{all.front()};
  constexpr int count = 8;
  std::atomic<int> bound{0};
  std::latch ready(count + 1);
  std::latch go_on(1);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&] {
        ready.arrive_and_wait();
        go_on.wait();
        const bool outer = list_of(cores_of_this_thread()) == first;
        std::jthread([&] { bound += outer && list_of(cores_of_this_thread()) == first ? 1 : 0; });
      });
    ready.arrive_and_wait();
    const auto done = bind_process(::getpid(), first);
    go_on.count_down();
    CHECK(done.has_value());
  }
  CHECK(bound == count);
  CHECK(list_of(cores_of_this_thread()) == first);
  CHECK(bind_process(::getpid(), all).has_value());
  CHECK(list_of(cores_of_this_thread()) == all);
}

TEST_CASE("cores that are not there are an error, and a process that has ended is none") {
  CHECK_FALSE(bind_process(::getpid(), {CPU_SETSIZE - 1}).has_value());
  CHECK(bind_process(1 << 22, {0}).has_value());
}

}  // namespace orchid::executor
