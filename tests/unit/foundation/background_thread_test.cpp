#include "foundation/background_thread.h"

#include <doctest/doctest.h>

#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace orchid {
namespace {

TEST_CASE("work is done elsewhere, in its order, and all of it in the end") {
  std::vector<int> done;  // written by the thread alone
  std::thread::id where;
  std::latch begun(1);
  std::latch queued(1);
  {
    BackgroundThread thread;
    thread.run([&] {
      where = std::this_thread::get_id();
      begun.count_down();
      queued.wait();
    });
    begun.wait();  // it is busy from now on
    thread.run([&] { done.push_back(1); });
    thread.run([&] { done.push_back(2); });
    CHECK_FALSE(thread.idle());
    queued.count_down();
  }
  CHECK(done == std::vector{1, 2});
  CHECK(where != std::this_thread::get_id());
}

TEST_CASE("what work owns ends on the thread, too") {
  struct Owned {
    explicit Owned(std::thread::id& place) : ended_on(place) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() { ended_on = std::this_thread::get_id(); }
    std::thread::id& ended_on;
  };
  std::thread::id ended_on;
  BackgroundThread thread;
  thread.run([owned = std::make_unique<Owned>(ended_on)] {});
  thread.finish();
  CHECK(thread.idle());
  CHECK(ended_on != std::thread::id());
  CHECK(ended_on != std::this_thread::get_id());
}

TEST_CASE("work that comes after the end is done at once") {
  BackgroundThread thread;
  thread.finish();
  bool is_done = false;
  thread.run([&] { is_done = true; });
  CHECK(is_done);
}

}  // namespace
}  // namespace orchid
