// Loads that fail: who is blamed, what is left of them, and for how long others wait.
#include <chrono>
#include <string>

#include "executor_fixture.h"
#include "foundation/files.h"
#include "protocol/digest.h"

namespace orchid::tests {
namespace {

using namespace std::chrono_literals;

struct LoadsFixture : ExecutorFixture {
  /// As the client hears it; empty: it is loaded.
  std::string why_not(const std::string& function,
                      std::optional<std::chrono::milliseconds> time_left = std::nullopt) {
    try {
      (void)worker.load(test_function(function), time_left);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }
  void await_replacement() {
    REQUIRE(std::holds_alternative<LaneEnded>(worker.receive()));
    REQUIRE(std::holds_alternative<LaneClaimed>(worker.receive()));
  }
};

}  // namespace

TEST_CASE_FIXTURE(LoadsFixture,
                  "a module that throws is refused a thousand times, and costs once") {
  const std::string first = why_not("throws_on_load");
  CHECK(contains(first, "a static initialiser failed"));
  CHECK(contains(first, "NotToday"));
  await_replacement();
  const auto births = executor.births();
  for (int i = 0; i < 1100; ++i) REQUIRE(why_not("throws_on_load") == first);
  CHECK(executor.births() <= births + 2);
  check_next_call();
}

TEST_CASE_FIXTURE(LoadsFixture, "code that cannot be linked leaves a fresh worker as it is") {
  const pid_t before = worker.pid();
  CHECK(contains(why_not("no_entry"), "entry"));
  CHECK(worker.pid() == before);
  check_next_call();
}

TEST_CASE_FIXTURE(LoadsFixture, "what fails for the worker's state is loaded by a fresh one") {
  REQUIRE(call("leaves_mark").outcome == Outcome::ok);
  const pid_t before = worker.pid();
  const LaneSlot slot = worker.load(test_function("loads_unless_marked"));
  CHECK(worker.pid() != before);
  CHECK(worker.call(slot, "").outcome == Outcome::ok);
}

TEST_CASE_FIXTURE(LoadsFixture, "what fails in a fresh worker too is told, and remembered") {
  REQUIRE(call("counts_calls").outcome == Outcome::ok);
  const std::string first = why_not("throws_on_load");
  CHECK(contains(first, "a static initialiser failed"));
  CHECK(why_not("throws_on_load") == first);
}

TEST_CASE_FIXTURE(LoadsFixture, "a load has as long as the call that waits for it") {
  // Its code is made beforehand, so that only the load counts.
  REQUIRE_FALSE(why_not("endless_initialiser", 300ms).empty());
  await_replacement();
  const auto start = std::chrono::steady_clock::now();
  const std::string why = why_not("endless_initialiser", 300ms);
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(contains(why, "the deadline passed while the module was loaded"));
  CHECK(contains(why, "timed_out"));
  CHECK(took < limits::load_time);
  await_replacement();
  check_next_call();
}

TEST_CASE_FIXTURE(LoadsFixture, "a load that hangs does not keep a loaded function for long") {
  const std::string digest = [] {
    const auto bytes = read_file(test_function("endless_initialiser"), 1_MiB);
    REQUIRE(bytes.has_value());
    return digest_of(*bytes);
  }();
  // Its code is made beforehand, so that only the load counts.
  REQUIRE_FALSE(why_not("endless_initialiser", 300ms).empty());
  await_replacement();
  REQUIRE(call("counts_calls").output == "1");
  const auto start = std::chrono::steady_clock::now();
  worker.send(LaneAnnounce{digest, 60s});
  await_replacement();
  CHECK(call("counts_calls").outcome == Outcome::ok);
  CHECK(std::chrono::steady_clock::now() - start < limits::load_time);
  CHECK(contains(why_not("endless_initialiser", 60s), "while other functions waited"));
}

}  // namespace orchid::tests
