#include "bandwidth/memory_traffic.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "bandwidth/accessed_memory.h"

namespace orchid::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime beginning{std::chrono::hours(1)};

/// A process with `resident` bytes that touches `touched` of them when it is told to.
struct Toucher {
  Toucher(ByteCount resident, ByteCount touched) {
    REQUIRE(::pipe(to) == 0);
    REQUIRE(::pipe(from) == 0);
    pid = ::fork();
    if (pid == 0) live(resident.value, touched.value);
    await();
  }
  ~Toucher() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (const int fd : {to[0], to[1], from[0], from[1]}) ::close(fd);
  }
  Toucher(const Toucher&) = delete;
  Toucher& operator=(const Toucher&) = delete;
  [[noreturn]] void live(std::size_t resident, std::size_t touched) const {
    if (!give_up_huge_pages()) ::_exit(1);
    auto* memory = static_cast<volatile char*>(
        ::mmap(nullptr, resident, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t i = 0; i < resident; i += 4096) memory[i] = 1;
    char byte = 0;
    while (::write(from[1], &byte, 1) == 1 && ::read(to[0], &byte, 1) == 1)
      for (std::size_t i = 0; i < touched; i += 4096) memory[i] = memory[i] + 1;
    ::_exit(0);
  }
  void await() const {
    char byte = 0;
    REQUIRE(::read(from[0], &byte, 1) == 1);
  }
  void touch() const {
    REQUIRE(::write(to[1], "", 1) == 1);
    await();
  }
  int to[2] = {-1, -1};
  int from[2] = {-1, -1};
  pid_t pid = -1;
};

}  // namespace

TEST_CASE("what a process touches is counted, and what it only has is not") {
  const Toucher toucher(64_MiB, 24_MiB);
  auto memory = AccessedMemory::of(toucher.pid);
  REQUIRE(memory.has_value());
  REQUIRE(memory->clear().has_value());
  const auto before = memory->touched();
  REQUIRE(before.has_value());
  CHECK(*before < 4_MiB);
  toucher.touch();
  const auto after = memory->touched();
  REQUIRE(after.has_value());
  CHECK(*after >= 22_MiB);
  CHECK(*after <= 28_MiB);
}

TEST_CASE("what a cap of bandwidth needs of the kernel is there") {
  const auto works = check_accessed_memory();
  CHECK_MESSAGE(works.has_value(), std::string(works ? "" : works.error().message));
}

TEST_CASE("a process that has ended cannot be measured, and is not taken for another") {
  std::optional<Toucher> toucher(std::in_place, 1_MiB, 1_MiB);
  auto memory = AccessedMemory::of(toucher->pid);
  REQUIRE(memory.has_value());
  const pid_t gone = toucher->pid;
  toucher.reset();
  CHECK_FALSE(memory->clear().has_value());
  CHECK_FALSE(memory->touched().has_value());
  CHECK_FALSE(AccessedMemory::of(gone).has_value());
}

TEST_CASE("what fits into the caches moves nothing, what does not counts by the first look") {
  const Touched little{4_MiB, milliseconds(2)};
  const Touched much{40_MiB, milliseconds(2)};
  CHECK(*rate_of(much, 16_MiB) == doctest::Approx(40 * 1048576.0 / 0.002));
  CHECK_FALSE(rate_of(little, 16_MiB).has_value());
  CHECK(rate_of(little, {8_MiB, milliseconds(20)}, 16_MiB) == 0);
  CHECK(rate_of(little, {30_MiB, milliseconds(20)}, 16_MiB) ==
        doctest::Approx(4 * 1048576.0 / 0.002));
}

TEST_CASE("what the measurement itself costs is taken off, but never all of the time") {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const Touched measured{ByteCount{10'000 * page}, milliseconds(5)};
  CHECK(without_cost(measured, std::chrono::nanoseconds(200)).cpu == milliseconds(3));
  CHECK(without_cost(measured, std::chrono::nanoseconds(0)).cpu == milliseconds(5));
  CHECK(without_cost(measured, std::chrono::nanoseconds(900)).cpu ==
        std::chrono::microseconds(500));
  const auto cost = cost_of_a_touch();
  CHECK(cost >= std::chrono::nanoseconds(0));
  CHECK(cost < std::chrono::microseconds(100));
}

TEST_CASE("a module is measured at once, soon again, and then less and less often") {
  MemoryTraffic traffic;
  CHECK(traffic.is_due("m", beginning));
  CHECK(traffic.rate("m") == 0);
  traffic.measured("m", 5e9, milliseconds(0), beginning);
  CHECK(traffic.rate("m") == 5e9);
  CHECK_FALSE(traffic.is_due("m", beginning + milliseconds(99)));
  CHECK(traffic.is_due("m", beginning + milliseconds(100)));
  MonotonicTime now = beginning;
  for (int i = 0; i < 20; ++i) traffic.measured("m", 5e9, milliseconds(0), now += seconds(60));
  CHECK_FALSE(traffic.is_due("m", now + seconds(29)));
  CHECK(traffic.is_due("m", now + seconds(30)));
}

TEST_CASE("a measurement that costs much is not repeated soon, but once") {
  MemoryTraffic traffic;
  traffic.measured("m", 0, milliseconds(100), beginning);
  CHECK(traffic.is_due("m", beginning + milliseconds(100)));
  traffic.measured("m", 0, milliseconds(100), beginning);
  CHECK_FALSE(traffic.is_due("m", beginning + seconds(19)));
  CHECK(traffic.is_due("m", beginning + seconds(20)));
}

TEST_CASE("more counts at once, less by half, and nothing after a while") {
  MemoryTraffic traffic;
  traffic.measured("m", 1e9, {}, beginning);
  traffic.measured("m", 4e9, {}, beginning);
  CHECK(traffic.rate("m") == 4e9);
  traffic.measured("m", 3e9, {}, beginning);
  CHECK(traffic.rate("m") == 3.5e9);
  traffic.measured("m", 0, {}, beginning);
  CHECK(traffic.rate("m") == 1.75e9);
  for (int i = 0; i < 20; ++i) traffic.measured("m", 0, {}, beginning);
  CHECK(traffic.rate("m") == 0);
}

TEST_CASE("a failed measurement is not repeated at once, and old modules make room") {
  MemoryTraffic traffic;
  traffic.not_measured("m", beginning);
  CHECK_FALSE(traffic.is_due("m", beginning));
  for (std::size_t i = 0; i < MemoryTraffic::most_modules; ++i)
    traffic.measured(std::to_string(i), 1e9, {}, beginning + seconds(1) + seconds(i));
  CHECK(traffic.is_due("m", beginning));  // forgotten
  CHECK(traffic.rate("1023") == 1e9);
}

}  // namespace orchid::executor
