// Which modules a worker drops for others.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
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

TEST_CASE("what a call makes again stays, though the program has loaded it before") {
  Modules modules;
  modules.load("program's");
  const WorkerSlot before = *modules.process.find_slot("program's");
  CHECK_FALSE(modules.process.expects_anew("program's"));
  const auto place =
      modules.process.expect({.digest = "program's", .due = {}, .kept = true}, nullptr);
  CHECK(place.slot == before.slot);
  CHECK(place.generation == before.generation);
  CHECK_FALSE(modules.process.is_loading());
  modules.process.load({.digest = "elsewhere", .due = {}}, [](const auto&, auto) {});
  CHECK(modules.process.keep("elsewhere"));  // another member has made it
  CHECK_FALSE(modules.process.keep("nobody's"));
  const auto asked = modules.process.expect({.digest = "elsewhere", .due = {}}, nullptr);
  REQUIRE(modules.process.take_answer(
      Loaded{.slot = asked.slot, .generation = asked.generation, .entries = {"e"}}));
  for (std::size_t i = 0; i < 2 * modules_per_worker; ++i) modules.load(numbered("others", i));
  CHECK(modules.has("program's"));
  CHECK(modules.has("elsewhere"));
}

TEST_CASE("what a program has loaded has room among what a worker keeps only as a made one has") {
  Modules modules;
  modules.load("program's");
  CHECK(modules.process.has_room_for("program's"));
  for (std::size_t i = 0; i < modules_per_worker; ++i)
    modules.load(numbered("made", i), /*kept=*/true);
  CHECK_FALSE(modules.process.has_room_for("program's"));
}

TEST_CASE("a call's module has no place that the worker has not heard is free") {
  Modules modules;
  for (std::size_t i = 0; i < modules_per_worker; ++i) modules.load(numbered("own", i));
  const std::uint32_t running = modules.process.find_slot("own0")->slot;
  for (std::size_t i = 1; i < modules_per_worker; ++i) CHECK(modules.has(numbered("own", i)));
  std::optional<std::uint32_t> asked;
  std::optional<std::uint32_t> made;
  const auto into = [](std::optional<std::uint32_t>& slot) {
    return [&slot](const std::expected<WorkerSlot, LoadFailure>& loaded, auto) {
      slot = loaded.value().slot;
    };
  };
  modules.process.load({.digest = "d", .due = {}}, into(asked));
  REQUIRE_FALSE(modules.has("own0"));  // its place is for the new one, after the call
  CHECK(modules.process.expects_anew("d"));
  const auto place = modules.process.expect({.digest = "d", .due = {}, .kept = true}, into(made));
  CHECK(place.slot != running);
  CHECK_FALSE(modules.process.expects_anew("d"));
  REQUIRE(modules.process.take_answer(
      Loaded{.slot = place.slot, .generation = place.generation, .entries = {"e"}}));
  CHECK(made == place.slot);
  // It loads it as it was asked to, and then has it twice: one is enough.
  REQUIRE(modules.process.take_answer(
      Loaded{.slot = running, .generation = place.generation - 1, .entries = {"e"}}));
  CHECK(asked == place.slot);
  CHECK_FALSE(modules.process.is_loading());
  CHECK(modules.process.find_slot("d")->kept);
}

}  // namespace orchid::executor
