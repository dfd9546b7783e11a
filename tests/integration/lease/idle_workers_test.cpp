// What workers take from their host while nobody calls them.
#include <fstream>
#include <string>

#include "lease_fixture.h"

namespace orchid::tests {
namespace {

/// User and system time of a process so far.
milliseconds processor_time(std::int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
  std::uint64_t ns = 0;
  file >> ns;
  REQUIRE(file.good());
  return std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(ns));
}

milliseconds used_in(std::int64_t process, milliseconds time) {
  const auto before = processor_time(process);
  const auto end = std::chrono::steady_clock::now() + time;
  CHECK(eventually([&] { return std::chrono::steady_clock::now() >= end; }));
  return processor_time(process) - before;
}

}  // namespace

TEST_CASE_FIXTURE(LeaseFixture, "a worker that waits asleep takes no core, and a hot one does") {
  for (const Wait wait : {Wait::adaptive, Wait::blocking, Wait::hot}) {
    CAPTURE(static_cast<int>(wait));
    take({.workers = 1, .wait = wait});
    CHECK(load(example("echo")).invoke("x").text() == "x");
    const std::int64_t worker = sdk::LeaseAccess::core_of(lease).worker_pids().at(0);
    const milliseconds used = used_in(worker, milliseconds(500));
    if (wait == Wait::hot)
      CHECK(used > milliseconds(50));
    else
      CHECK(used <= milliseconds(10));
  }
}

}  // namespace orchid::tests
