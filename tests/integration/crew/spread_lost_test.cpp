// A crew at two executors of which one is lost: what the other one runs ends before it begins
// again.
#include <signal.h>

#include <atomic>
#include <fstream>
#include <future>
#include <limits>
#include <stop_token>

#include "spread_fixture.h"

namespace orchid::tests {
namespace {

pid_t parent_of(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/stat");
  status.ignore(std::numeric_limits<std::streamsize>::max(), ')');
  char state = 0;
  pid_t parent = 0;
  status >> state >> parent;
  return parent;
}

/// The executor of that worker, whose child it is: it hears and says nothing.
class HaltedExecutor {
 public:
  explicit HaltedExecutor(pid_t worker) : process_(parent_of(worker)) {
    REQUIRE(process_ > 1);
    REQUIRE(::kill(process_, SIGSTOP) == 0);
  }
  ~HaltedExecutor() { ::kill(process_, SIGCONT); }
  HaltedExecutor(const HaltedExecutor&) = delete;
  HaltedExecutor& operator=(const HaltedExecutor&) = delete;

 private:
  pid_t process_;
};

/// Two calls run at the second executor's members, one of which may run once, and the first
/// executor takes its members back.
struct LostExecutor : SpreadFixture {
  std::atomic<unsigned> takes = 0;
  std::atomic<bool> runs_beside = false;  // when another crew was asked for
  pid_t runner = 0;                       // of the first call
  Crew crew = take({.workers = 4, .within = seconds(20)});
  CrewFunction linger = CrewFixture::entry(crew, "linger");
  std::stop_source stop;
  std::future<Reply> again = linger.async(4, bytes_of({}), {.stop = stop.get_token()});
  std::future<Reply> once = linger.async(3, bytes_of({}), {.at_most_once = true});

  LostExecutor() {
    CHECK(again.wait_for(milliseconds(100)) == std::future_status::timeout);
    CHECK(once.wait_for(milliseconds(100)) == std::future_status::timeout);
    source->on_take = [this] {
      if (::kill(runner, 0) == 0) runs_beside = true;
      ++takes;
    };
    runner = static_cast<pid_t>(crew.pids().at(3));
  }
  void lose_first() {
    first.evict(source->members().at(0));
    CHECK(eventually([&] { return crew.pids().empty(); }));
  }
  void check_outcomes() {
    CHECK(eventually([&] { return crew.formations() == 2 && crew.pids().size() == 4; }));
    const Error lost = error_of([&] { (void)once.get(); });
    check_clear(lost, ErrorKind::worker_lost);
    CHECK(lost.attempt() == 1);
    // It is begun before any later call of its module.
    CHECK(walk_of(CrewFixture::entry(crew, "walk").invoke(1, bytes_of({.left = 1}))).left == 0);
    stop.request_stop();
    check_clear(error_of([&] { (void)again.get(); }), ErrorKind::cancelled);
  }
};

}  // namespace

TEST_CASE_FIXTURE(
    LostExecutor,
    "calls of a crew that loses an executor wait until its members elsewhere are gone") {
  {
    const HaltedExecutor silent(runner);
    lose_first();
    CHECK(once.wait_for(milliseconds(500)) == std::future_status::timeout);
    CHECK(takes == 0);
  }
  check_outcomes();
  CHECK_FALSE(runs_beside);
}

TEST_CASE_FIXTURE(LostExecutor,
                  "an executor that says nothing keeps a lost crew for a while only") {
  {
    const HaltedExecutor silent(runner);
    lose_first();
    CHECK(eventually([&] { return takes > 0; }, seconds(60)));
  }
  check_outcomes();
}

}  // namespace orchid::tests
