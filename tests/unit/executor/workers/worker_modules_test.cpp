// Which modules a worker drops for others.
#include <doctest/doctest.h>

#include <string>

#include "workers/worker_process.h"

namespace orchid::executor {
namespace {

struct Modules {
  WorkerProcess process{1, StatusPageMapping::create().value(),
                        transport::make_lane({4_MiB, 4_MiB}).value(), 1_GiB};
  void load(const std::string& digest, bool kept = false) {
    const auto place =
        process.expect({.digest = digest, .due = {}, .kept = kept}, [](const auto&, auto) {});
    REQUIRE(process.take_answer(
        Loaded{.slot = place.slot, .generation = place.generation, .entries = {"e"}}));
  }
  bool has(const std::string& digest) { return process.find_slot(digest) != nullptr; }
};

std::string numbered(const char* name, std::size_t number) { return name + std::to_string(number); }

}  // namespace

TEST_CASE("a worker drops what was not used for the longest time, and nothing that it keeps") {
  Modules modules;
  modules.load("made", /*kept=*/true);
  for (std::size_t i = 0; i < modules_per_worker; ++i) modules.load(numbered("own", i));
  CHECK(modules.has("own0"));
  modules.load("one more");
  CHECK(modules.has("own0"));
  CHECK_FALSE(modules.has("own1"));
  for (std::size_t i = 0; i < 2 * modules_per_worker; ++i) modules.load(numbered("others", i));
  CHECK_FALSE(modules.has("own0"));
  CHECK(modules.has("made"));
}

TEST_CASE("what a worker keeps has a limit of its own") {
  Modules modules;
  for (std::size_t i = 0; i < modules_per_worker; ++i) modules.load(numbered("own", i));
  for (std::size_t i = 0; i < modules_per_worker; ++i) {
    CHECK(modules.process.has_room_for(numbered("made", i)));
    modules.load(numbered("made", i), /*kept=*/true);
  }
  CHECK_FALSE(modules.process.has_room_for("one more"));
  CHECK(modules.process.has_room_for("made0"));
  for (std::size_t i = 0; i < modules_per_worker; ++i) {
    CHECK(modules.has(numbered("own", i)));
    CHECK(modules.has(numbered("made", i)));
  }
}

TEST_CASE("what a worker is told of a place is true of what it was asked for before") {
  Modules modules;
  int loaded = 0;
  const auto done = [&](const auto& slot, auto) { loaded += slot.has_value() ? 1 : 100; };
  modules.process.load({.digest = "a", .due = {}}, done);
  const auto place = modules.process.expect({.digest = "a", .due = {}, .kept = true},
                                            [&](const auto&, auto) { loaded = 1000; });
  CHECK(modules.process.take_answer(
      Loaded{.slot = place.slot, .generation = place.generation, .entries = {"e"}}));
  CHECK(loaded == 1);
}

}  // namespace orchid::executor
