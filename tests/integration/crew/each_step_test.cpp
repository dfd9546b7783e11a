// Each member killed, and stopped, at each step of a walk and of a tree: what is answered is
// answered once, and no part of it is missing or there twice.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "crew_fixture.h"
#include "shared_rings.h"

namespace orchid::tests {
namespace {

constexpr unsigned members = 3;
constexpr std::uint32_t steps = 5;

/// As tests/data/functions/halts_crew.c has it.
struct Halt {
  std::uint32_t halt_at = 0;
  std::uint32_t step = 0;
  std::uint32_t last = steps - 1;
  std::uint32_t unused = 0;
  std::uint64_t sum = 0;
};
constexpr std::uint64_t all_steps = 0x01'01'01'01'01;

struct HaltFixture : CrewFixture {
  /// Where a member says its step. The call is the only one, and so in the first place.
  [[nodiscard]] static std::uint64_t* room_of(std::uint32_t member) {
    std::byte* const pair = shared_with(member, members);
    if (pair == nullptr) return nullptr;
    constexpr std::size_t rooms = (sizeof(transport::CrewRing) + 4095) / 4096 * 4096;
    return reinterpret_cast<std::uint64_t*>(pair + transport::CrewLayout::direction_bytes + rooms);
  }
  /// The room of the member that has come to the step.
  [[nodiscard]] static std::uint64_t* halted(std::uint32_t step) {
    std::uint64_t* found = nullptr;
    REQUIRE(eventually([&] {
      for (std::uint32_t member = 1; member <= members && found == nullptr; ++member)
        if (std::uint64_t* const room = room_of(member))
          if (std::atomic_ref(room[0]).load() == 0x4f72636869640000U + step) found = room;
      return found != nullptr;
    }));
    return found;
  }
  /// Which leaves of the tree have run in this crew.
  [[nodiscard]] static std::vector<std::uint32_t> leaves_run() {
    std::vector<std::uint32_t> run;
    for (std::uint32_t leaf = 1; leaf <= 3; ++leaf)
      for (std::uint32_t member = 1; member <= members; ++member)
        if (std::atomic_ref(room_of(member)[8 + leaf]).load() != 0) run.push_back(leaf);
    return run;
  }
  void try_each(std::string_view name, int signal) {
    Crew crew = take({.workers = members});
    const CrewFunction function =
        entry_of(crew, std::filesystem::path(FUNCTIONS) / "halts_crew.bc", name);
    for (std::uint32_t step = 0; step < steps; ++step)
      for (unsigned victim = 1; victim <= members; ++victim) {
        CAPTURE(step);
        CAPTURE(victim);
        const unsigned before = crew.formations();
        const Halt plan{.halt_at = step};
        std::future<Reply> reply = function.async(1, std::as_bytes(std::span(&plan, 1)));
        (void)halted(step);
        REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(victim - 1)), signal) == 0);
        REQUIRE(eventually(
            [&] { return crew.formations() == before + 1 && crew.pids().size() == members; }));
        std::atomic_ref(halted(step)[1]).store(1);
        CHECK(value_of<std::uint64_t>(reply.get()) == all_steps);
      }
  }
};

}  // namespace

TEST_CASE_FIXTURE(HaltFixture, "a tree goes on from those children that have answered") {
  Crew crew = take({.workers = members});
  const CrewFunction tree =
      entry_of(crew, std::filesystem::path(FUNCTIONS) / "halts_crew.bc", "halt_tree");
  // All have, when the call goes on; and the one that is under way has not.
  for (const std::uint32_t step : {4U, 2U}) {
    const Halt plan{.halt_at = step};
    std::future<Reply> reply = tree.async(1, std::as_bytes(std::span(&plan, 1)));
    for (unsigned loss = 0; loss < 2; ++loss) {
      (void)halted(step);
      if (loss == 0 && step == 4) CHECK(leaves_run() == std::vector<std::uint32_t>{1, 2, 3});
      if (loss == 1 && step == 4) CHECK(leaves_run().empty());
      if (step == 2) CHECK(std::ranges::count(leaves_run(), step) == 1);
      const unsigned before = crew.formations();
      REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(loss)), SIGKILL) == 0);
      REQUIRE(eventually(
          [&] { return crew.formations() == before + 1 && crew.pids().size() == members; }));
    }
    std::atomic_ref(halted(step)[1]).store(1);
    CHECK(value_of<std::uint64_t>(reply.get()) == all_steps);
  }
}

TEST_CASE_FIXTURE(HaltFixture, "each member is killed at each step of a walk") {
  try_each("halt_walk", SIGKILL);
}
TEST_CASE_FIXTURE(HaltFixture, "each member is stopped at each step of a walk") {
  try_each("halt_walk", SIGSTOP);
}
TEST_CASE_FIXTURE(HaltFixture, "each member is killed at each step of a tree") {
  try_each("halt_tree", SIGKILL);
}
TEST_CASE_FIXTURE(HaltFixture, "each member is stopped at each step of a tree") {
  try_each("halt_tree", SIGSTOP);
}

}  // namespace orchid::tests
