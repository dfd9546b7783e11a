#include "hygiene.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cfenv>
#include <clocale>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <future>
#include <iomanip>
#include <iostream>
#include <locale>
#include <memory_resource>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <thread>

#include "devices/core_team.h"
#include "runtime_symbols/runtime_symbols.h"
#include "user_code/runtime_overrides.h"

namespace orchid::executor {

using namespace std::chrono_literals;

TEST_CASE("rounding is put back after a call") {
  Hygiene hygiene({});
  std::fesetround(FE_UPWARD);
  hygiene.restore_registers();
  CHECK(std::fegetround() == FE_TONEAREST);
}

#if defined(__x86_64__)
TEST_CASE("values that were left on the stack of the floating-point unit are gone") {
  Hygiene hygiene({});
  for (int left : {1, 8}) {
    CAPTURE(left);
    for (int i = 0; i < left; ++i) asm volatile("fld1");
    hygiene.restore_registers();
    volatile long double one = 1;
    CHECK(one + one == 2);
  }
}

TEST_CASE("an exception of the floating-point unit that waits to trap traps nobody") {
  Hygiene hygiene({});
  const std::uint16_t traps_all = 0x0340;
  asm volatile("fldcw %0" : : "m"(traps_all));
  asm volatile("fld1");
  asm volatile("fldz");
  asm volatile("fdivrp");  // what it raises traps at the next instruction of the unit
  hygiene.restore_registers();
  volatile long double one = 1;
  CHECK(one + one == 2);
}

TEST_CASE("a guard that was overwritten is put back, and found") {
  Hygiene hygiene({});
  CHECK(hygiene.restore_after_call(0ns).empty());
  std::uint64_t guard = 0;
  asm volatile("movq %%fs:0x30, %0" : "=r"(guard));
  asm volatile("movq %0, %%fs:0x30" : : "r"(~guard));
  CHECK(hygiene.restore_after_call(0ns) == "the function overwrote the thread's area");
  std::uint64_t after = 0;
  asm volatile("movq %%fs:0x30, %0" : "=r"(after));
  CHECK(after == guard);
  CHECK(hygiene.restore_after_call(0ns).empty());
}
#endif

TEST_CASE("flags of computations that are over are cleared") {
  std::feclearexcept(FE_ALL_EXCEPT);
  Hygiene hygiene({});
  std::feraiseexcept(FE_DIVBYZERO | FE_INEXACT);
  hygiene.restore_registers();
  CHECK(std::fetestexcept(FE_ALL_EXCEPT) == 0);
}

struct DecimalComma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST_CASE("locales are those of the start again: C's, C++'s, the thread's, the streams'") {
  Hygiene hygiene({});
  const std::locale comma(std::locale(), new DecimalComma);
  const auto is_as_before = [] {
    std::ostringstream text;
    text << 1.5;
    CHECK(text.str() == "1.5");
    CHECK(std::locale() == std::locale::classic());
    CHECK(std::string(std::setlocale(LC_ALL, nullptr)) == "C");
    CHECK(::uselocale(nullptr) == LC_GLOBAL_LOCALE);
    CHECK(MB_CUR_MAX == 1);
  };
  std::locale::global(comma);
  override_targets().library_changed = true;
  CHECK(hygiene.restore_after_call(0ns).empty());
  is_as_before();
  REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);
  REQUIRE(MB_CUR_MAX > 1);
  override_targets().library_changed = true;
  CHECK(hygiene.restore_after_call(0ns).empty());
  is_as_before();
  const locale_t own = ::newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  REQUIRE(own != nullptr);
  ::uselocale(own);
  override_targets().library_changed = true;
  CHECK(hygiene.restore_after_call(0ns).empty());
  is_as_before();
  ::freelocale(own);
  std::cout.imbue(comma);
  CHECK(hygiene.restore_after_call(Hygiene::look_interval).empty());
  CHECK(std::cout.getloc() == std::locale::classic());
}

TEST_CASE("what sets a locale or a handler is noticed") {
  for (const char* name :
       {"setlocale", "uselocale", "_ZNSt6locale6globalERKS_", "_ZSt15set_new_handlerPFvvE",
        "_ZSt13set_terminatePFvvE", "_ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE"}) {
    CAPTURE(std::string(name));
    CHECK(find_override(name) != nullptr);
    CHECK(find_runtime_symbol(name) != nullptr);
  }
}

TEST_CASE("streams write as at the start, handlers are those of the start, errno is none") {
  Hygiene hygiene({});
  const auto new_handler = std::get_new_handler();
  const auto terminate_handler = std::get_terminate();
  std::cout << std::hex << std::setprecision(2) << std::setfill('*');
  std::cout.setstate(std::ios_base::badbit);
  std::set_new_handler([] {});
  std::set_terminate([] { std::abort(); });
  std::pmr::set_default_resource(std::pmr::null_memory_resource());
  override_targets().library_changed = true;
  errno = EINVAL;
  CHECK(hygiene.restore_after_call(0ns).empty());
  CHECK(errno == 0);
  CHECK((std::cout.flags() & std::ios_base::basefield) == std::ios_base::dec);
  CHECK(std::cout.precision() == 6);
  CHECK(std::cout.fill() == ' ');
  CHECK(std::cout.good());
  CHECK((std::get_new_handler() == new_handler));
  CHECK((std::get_terminate() == terminate_handler));
  CHECK(std::pmr::get_default_resource() == std::pmr::new_delete_resource());
}

TEST_CASE("mappings are counted once calls have run for an interval") {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  REQUIRE(maps >= 0);
  Hygiene hygiene({.mappings = maps});
  hygiene.remember();
  CHECK(hygiene.restore_after_call(Hygiene::look_interval).empty());
  // Every other page with other rights: a mapping each.
  constexpr std::size_t page = 4096;
  constexpr std::size_t pages = ProcessState::most_further_mappings + 64;
  void* memory = ::mmap(nullptr, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  for (std::size_t at = 0; at < pages; at += 2)
    REQUIRE(::mprotect(static_cast<char*>(memory) + at * page, page, PROT_READ) == 0);
  CHECK(hygiene.restore_after_call(0ns).empty());
  CHECK(hygiene.restore_after_call(Hygiene::look_interval) ==
        "the function left too many mappings of memory");
  ::munmap(memory, pages * page);
  CHECK(hygiene.restore_after_call(Hygiene::look_interval).empty());
  ::close(maps);
}

#ifndef ORCHID_SANITIZED  // which have threads of their own
TEST_CASE("a thread that still runs is found, one that has ended is not") {
  CHECK(Hygiene({}).find_threads().empty());
  std::mutex mutex;
  std::condition_variable end;
  bool over = false;
  std::thread thread([&] {
    std::unique_lock lock(mutex);
    end.wait(lock, [&] { return over; });
  });
  CHECK(Hygiene({}).find_threads() == "the function left a thread running");
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  end.notify_one();
  thread.join();
  CHECK(Hygiene({}).find_threads().empty());
}

TEST_CASE("a thread that still runs is found beside those of a team, which are not") {
  const int tasks = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(tasks >= 0);
  Hygiene hygiene({.threads = tasks});
  hygiene.remember();
  CoreTeam team(TickRate::measure());
  team.resize(2);
  hygiene.expect_team(2);
  CHECK(hygiene.find_threads().empty());
  std::promise<void> end;
  std::thread left([&] { end.get_future().wait(); });
  CHECK(hygiene.find_threads() == "the function left a thread running");
  end.set_value();
  left.join();
  CHECK(hygiene.find_threads().empty());
  team.disband();
  hygiene.expect_team(0);
  CHECK(hygiene.find_threads().empty());
  ::close(tasks);
}
#endif

TEST_CASE("a descriptor that is left open is counted where files may be opened") {
  const int directory = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(directory >= 0);
  Hygiene hygiene({.descriptors = directory, .opens_files = true});
  hygiene.remember();
  CHECK(hygiene.restore_after_call(0ns).empty());
  const int left = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK(hygiene.restore_after_call(0ns) == "the function left 1 descriptor(s) open");
  ::close(left);
  CHECK(hygiene.restore_after_call(0ns).empty());
  ::close(directory);
}

}  // namespace orchid::executor
