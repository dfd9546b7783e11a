// Calls that name the same data one after the other: they need not ask the control thread each.
#include "calls/recent_call_data.h"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>

#include "data_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

const ExecutorId its_holder("e1");

struct RecentWorld : DataWorld {
  RecentWorld() {
    join(its_holder);
    put();
  }
  std::shared_ptr<const CallData> look_up() {
    auto found = service.copies().for_call(data_owner, "climate");
    return found ? *found : nullptr;
  }
  /// Looked up, remembered, and let go: only what remembers it keeps it now.
  void call_once() {
    const auto data = look_up();
    REQUIRE(data != nullptr);
    recent.remember(data_owner, "climate", {}, data);
  }
  std::shared_ptr<const CallData> again(const placement::WorkerRequest& worker = {}) {
    return recent.find(data_owner, "climate", worker);
  }

  RecentCallData recent{service.copies().finder().changes};
};

}  // namespace

TEST_CASE_FIXTURE(RecentWorld, "the next call with the same data and needs is given the same") {
  CHECK(again() == nullptr);
  call_once();
  const auto data = again();
  REQUIRE(data != nullptr);
  CHECK(data->labels.front() == "climate@1");
  CHECK(again({.alternatives = {{.cores = 2}}}) == nullptr);
  CHECK(recent.find(data_owner + 1, "climate", {}) == nullptr);
  CHECK(recent.find(data_owner, "climate@1", {}) == nullptr);
}

TEST_CASE_FIXTURE(RecentWorld, "a newer version, a removal and a lost executor end that at once") {
  call_once();
  REQUIRE(again() != nullptr);
  SUBCASE("a newer version") {
    put();
    CHECK(again() == nullptr);
    CHECK(look_up()->labels.front() == "climate@2");
  }
  SUBCASE("a removal") {
    remove("climate");
    REQUIRE((removed && removed->has_value()));
    CHECK(again() == nullptr);
    CHECK(look_up() == nullptr);
  }
  SUBCASE("a lost executor") {
    loop.make(
        [](WorkerBroker& changed, MonotonicTime now) { changed.executor_lost(its_holder, now); });
    CHECK(again() == nullptr);
  }
}

TEST_CASE_FIXTURE(RecentWorld, "it is kept for a moment only, and so is its version") {
  call_once();
  clock.advance(seconds(1));
  service.copies().tick(clock.now());
  CHECK(again() == nullptr);
  const DataId first = look_up()->ids.front();
  for (int version = 2; version <= 5; ++version) put();  // three are kept
  service.copies().tick(clock.now());
  io.poll();  // what a call was given is let go by a task
  CHECK(drops_of(first) == 1);
}

TEST_CASE("where nobody says what has changed nothing is remembered") {
  RecentCallData recent(nullptr);
  recent.remember(data_owner, "climate", {}, std::make_shared<const CallData>());
  CHECK(recent.find(data_owner, "climate", {}) == nullptr);
}

}  // namespace orchid::gateway
