#include "hygiene.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cfenv>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace orchid::executor {

using namespace std::chrono_literals;

TEST_CASE("rounding is put back after a call") {
  Hygiene hygiene({});
  std::fesetround(FE_UPWARD);
  CHECK(hygiene.restore_after_call(0ns).empty());
  CHECK(std::fegetround() == FE_TONEAREST);
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
#endif

TEST_CASE("a descriptor that is left open is counted where files may be opened") {
  const int directory = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(directory >= 0);
  Hygiene hygiene({.descriptors = directory});
  hygiene.remember();
  CHECK(hygiene.restore_after_call(0ns).empty());
  const int left = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK(hygiene.restore_after_call(0ns) == "the function left 1 descriptor(s) open");
  ::close(left);
  CHECK(hygiene.restore_after_call(0ns).empty());
  ::close(directory);
}

}  // namespace orchid::executor
