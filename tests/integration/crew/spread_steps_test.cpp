// Each member of a crew at two executors killed, and stopped, at each step of a walk and of a tree:
// what is answered is answered once, and no part of it is missing or there twice.
#include <signal.h>

#include <algorithm>
#include <array>
#include <future>
#include <string>

#include "makes_modules.h"
#include "spread_fixture.h"

namespace orchid::tests {
namespace {

/// As tests/data/functions/halts_far_crew.c has it.
struct FarHalt {
  std::uint32_t halt_at = 0;
  std::uint32_t step = 0;
  std::uint32_t last = 4;
  std::uint32_t unused = 0;
  std::uint64_t sum = 0;
  std::array<char, 48> function{};
};
constexpr std::uint64_t all_five_steps = 0x01'01'01'01'01;

struct FarHaltFixture : SpreadFixture {
  static constexpr unsigned members = 3;  // the last one is at the second executor
  const std::vector<std::byte> echo = bytes_of_file(std::filesystem::path(EXAMPLES) / "echo.bc");
  unsigned number = 0;

  /// Of a function that nobody has fetched so far.
  [[nodiscard]] FarHalt plan_for(std::uint32_t step) {
    FarHalt plan{.halt_at = step};
    const std::string name = "halt" + std::to_string(++number);
    source->deploy(name + "@0123456789abcdef", echo);
    const std::string function = name + ".echo@0123456789abcdef";
    std::ranges::copy(function, plan.function.begin());
    return plan;
  }
  /// `first`: where the call begins; halts at its step, and loses `victim` there.
  void try_step(Crew& crew, const CrewFunction& function, std::uint32_t step, unsigned first,
                unsigned victim, int signal) {
    CAPTURE(step);
    CAPTURE(first);
    CAPTURE(victim);
    const unsigned before = crew.formations();
    const unsigned asked = source->look_ups;
    const FarHalt plan = plan_for(step);
    source->silent = true;  // a call that asks for code halts
    std::future<Reply> reply = function.async(first, std::as_bytes(std::span(&plan, 1)));
    CHECK(eventually([&] { return source->look_ups > asked; }));
    CHECK(::kill(static_cast<pid_t>(crew.pids().at(victim - 1)), signal) == 0);
    CHECK(eventually([&] { return crew.formations() > before && crew.pids().size() == members; }));
    source->silent = false;
    source->silent.notify_all();
    CHECK(value_of<std::uint64_t>(reply.get()) == all_five_steps);
  }
  [[nodiscard]] static CrewFunction halting(Crew& crew, std::string_view name) {
    return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "halts_far_crew.bc",
                                 name);
  }
  /// Begins at the victim, and comes to the others.
  void try_walk(int signal) {
    Crew crew = take({.workers = members, .within = seconds(20)});
    const CrewFunction walk = halting(crew, "far_walk");
    for (std::uint32_t step = 0; step <= 4; ++step)
      for (unsigned victim = 1; victim <= members; ++victim)
        try_step(crew, walk, step, victim, victim, signal);
  }
  /// The root is at the client's executor, and at the other one; whoever is lost is the root's
  /// member, one beside it, or one at the other executor.
  void try_tree(int signal) {
    Crew crew = take({.workers = members, .within = seconds(20)});
    const CrewFunction tree = halting(crew, "far_tree");
    for (std::uint32_t step = 0; step <= 4; ++step)
      for (const unsigned root : {1U, members})
        for (unsigned victim = 1; victim <= members; ++victim)
          try_step(crew, tree, step, root, victim, signal);
  }
};

}  // namespace

TEST_CASE_FIXTURE(FarHaltFixture,
                  "each member is killed at each step of a walk between executors") {
  try_walk(SIGKILL);
}
TEST_CASE_FIXTURE(FarHaltFixture,
                  "each member is stopped at each step of a walk between executors") {
  try_walk(SIGSTOP);
}
TEST_CASE_FIXTURE(FarHaltFixture,
                  "each member is killed at each step of a tree between executors") {
  try_tree(SIGKILL);
}
TEST_CASE_FIXTURE(FarHaltFixture,
                  "each member is stopped at each step of a tree between executors") {
  try_tree(SIGSTOP);
}

TEST_CASE_FIXTURE(SpreadFixture,
                  "executors are reclaimed one after the other, each in the middle of a chain") {
  Crew crew = take({.workers = 4, .within = seconds(20)});
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  const Walk asked{.left = 3'000, .stride = 1};
  for (unsigned loss = 0; loss < 3; ++loss) {
    CAPTURE(loss);
    const unsigned before = crew.formations();
    const std::string lease = crew.id();
    const auto granted = source->members();  // in turn, at each of the two
    std::future<Reply> walking = walk.async(1, bytes_of(asked), {.deadline = seconds(60)});
    for (std::size_t i = loss % 2; i < granted.size(); i += 2)
      i % 2 == 0 ? first.evict(granted[i]) : second.evict(granted[i]);
    CHECK(eventually([&] { return crew.formations() > before && crew.pids().size() == 4; }));
    CHECK(crew.id() != lease);
    CHECK(walk_of(walking.get()).sum == sum_of(asked, 1, 4));
  }
}

}  // namespace orchid::tests
