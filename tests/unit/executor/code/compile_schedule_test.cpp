#include "code/compile_schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;
using Kind = CompileSchedule::Action::Kind;

/// Processes that do at once what they are told; a job lasts as long as it says, and only what the
/// schedule says happens. Checks what must hold always.
struct CompilerWorld {
  explicit CompilerWorld(CompileSchedule::Options schedule_options)
      : options(schedule_options), schedule(schedule_options) {}
  struct Child {
    CompileRank rank;
    bool ready = false;
    CompileSchedule::Job job = 0;
    std::optional<std::uint32_t> tenant;         // whose modules it has seen
    MonotonicTime event = MonotonicTime::max();  // when it is ready, or has done its job
    bool stopping = false;
  };
  struct Module {
    std::uint32_t tenant = 0;
    CompileRank purpose = CompileRank::calls;
    std::chrono::milliseconds length{0};
    MonotonicTime added;
    std::optional<MonotonicTime> begun;
    std::optional<MonotonicTime> done;
  };

  CompileSchedule::Job add(std::uint32_t tenant, std::chrono::milliseconds length,
                           CompileRank purpose = CompileRank::calls, ByteCount size = 4_KiB) {
    const auto job = schedule.add(tenant, purpose, size, now);
    modules[job] = {.tenant = tenant, .purpose = purpose, .length = length, .added = now};
    obey();
    return job;
  }
  void obey() {
    bool again = true;
    while (std::exchange(again, false))
      for (const auto& action : schedule.decide(now)) {
        again = true;
        obey(action);
      }
    check();
  }
  void obey(const CompileSchedule::Action& action) {
    if (action.kind == Kind::start) {
      CHECK_FALSE(paused);
      children[action.process] = {.rank = action.rank, .event = now + start_time};
      return;
    }
    Child& child = children.at(action.process);
    if (action.kind == Kind::run) {
      Module& module = modules.at(action.job);
      REQUIRE(child.ready);
      REQUIRE(child.job == 0);
      REQUIRE_FALSE(child.stopping);
      // No process reads modules of two tenants.
      REQUIRE(child.tenant.value_or(module.tenant) == module.tenant);
      child.tenant = module.tenant;
      child.job = action.job;
      child.event = now + module.length;
      if (!module.begun) module.begun = now;
    } else if (action.kind == Kind::defer) {
      CHECK(child.job == action.job);
      child.rank = CompileRank::late;
    } else {
      child.stopping = true;
      child.event = now + 1ms;
    }
  }
  void check() const {
    CHECK(children.size() <= options.most_processes);
    std::map<CompileRank, unsigned> busy;
    for (const auto& [process, child] : children)
      if (child.job != 0) ++busy[child.rank];
    CHECK(busy[CompileRank::late] <= options.most_late);
  }
  void happen(CompileSchedule::Process process) {
    Child& child = children.at(process);
    if (child.stopping) {
      children.erase(process);
      schedule.ended(process, now);
    } else if (!child.ready) {
      child.ready = true;
      child.event = MonotonicTime::max();
      schedule.ready(process, now);
    } else {
      modules.at(std::exchange(child.job, 0)).done = now;
      child.event = MonotonicTime::max();
      schedule.finished(process, now);
    }
    obey();
  }
  /// Dies by itself.
  void crash(CompileSchedule::Process process) {
    children.erase(process);
    schedule.ended(process, now);
    obey();
  }
  /// Its compiler dies of it each time that it is tried: twice.
  void crash_of(CompileSchedule::Job job) {
    for (const bool tried_enough : {false, true}) {
      const auto process = schedule.process_of(job);
      REQUIRE(process.has_value());
      if (tried_enough) schedule.finished(*process, now);
      crash(*process);
      run(start_time);
    }
  }
  void run_until(MonotonicTime end) {
    for (;;) {
      auto next = std::ranges::min_element(children, {},
                                           [](const auto& entry) { return entry.second.event; });
      const MonotonicTime event =
          next == children.end() ? MonotonicTime::max() : next->second.event;
      const MonotonicTime due = std::max(schedule.due(), now);
      if (std::min(event, due) > end) break;
      now = std::min(event, due);
      event <= due ? happen(next->first) : obey();
    }
    now = end;
  }
  void run(std::chrono::milliseconds time) { run_until(now + time); }
  [[nodiscard]] std::size_t count(CompileRank rank) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        children, [rank](const auto& entry) { return entry.second.rank == rank; }));
  }
  [[nodiscard]] std::chrono::milliseconds wait_of(CompileSchedule::Job job) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(*modules.at(job).begun -
                                                                 modules.at(job).added);
  }

  CompileSchedule::Options options;
  CompileSchedule schedule;
  MonotonicTime now{1h};
  std::chrono::milliseconds start_time{80};
  bool paused = false;
  std::map<CompileSchedule::Process, Child> children;
  std::map<CompileSchedule::Job, Module> modules;
};

constexpr std::uint32_t me = 1000;

CompileSchedule::Options personal() { return {.resident = me}; }

}  // namespace

TEST_CASE("the resident has one compiler for calls and one for better code, always") {
  CompilerWorld world(personal());
  world.obey();
  CHECK(world.count(CompileRank::calls) == 1);
  CHECK(world.count(CompileRank::better) == 1);
  world.run(1s);
  CHECK(world.wait_of(world.add(me, 5ms)) == 0ms);
  world.run(1h);
  CHECK(world.children.size() == 2);
  world.crash(world.children.begin()->first);
  world.run(1s);
  CHECK(world.children.size() == 2);
}

TEST_CASE("a long compilation goes on behind the others, and its place is taken at once") {
  CompilerWorld world(personal());
  world.obey();
  world.run(1s);
  const auto bomb = world.add(me, 30s);
  world.run(50ms);
  // Within its slice others wait, for the rest of it and a start.
  const auto early = world.add(me, 5ms);
  world.run(200ms);
  CHECK(world.wait_of(early) <= world.options.slice + world.start_time);
  CHECK(world.count(CompileRank::late) == 1);
  CHECK(world.schedule.slices_over() == 1);
  const auto small = world.add(me, 5ms);
  CHECK(world.wait_of(small) == 0ms);
  world.run(29s);
  CHECK_FALSE(world.modules.at(bomb).done.has_value());
  world.run(2s);
  CHECK(*world.modules.at(bomb).done - world.modules.at(bomb).added == 30s);
  CHECK(world.children.size() == 2);  // what was late ends
}

TEST_CASE("a second long one begins anew when the first is over; others go on") {
  CompilerWorld world(personal());
  world.obey();
  world.run(1s);
  const auto first = world.add(me, 10s);
  const auto second = world.add(me, 10s);
  world.run(3s);
  CHECK(world.count(CompileRank::late) == 1);
  const auto small = world.add(me, 5ms);
  world.run(300ms);
  CHECK(world.wait_of(small) <= world.options.slice + world.start_time);
  world.run(30s);
  CHECK(world.modules.at(first).done.has_value());
  CHECK(world.modules.at(second).done.has_value());
}

TEST_CASE("small modules pass large ones that came shortly before, and not for ever") {
  CompilerWorld world(personal());
  world.obey();
  world.run(1s);
  const auto running = world.add(me, 50ms);
  const auto large = world.add(me, 50ms, CompileRank::calls, 5_MiB);
  const auto small = world.add(me, 5ms);
  world.run(200ms);
  CHECK(*world.modules.at(running).begun <= *world.modules.at(small).begun);
  CHECK(*world.modules.at(small).begun < *world.modules.at(large).begun);
  const auto patient = world.add(me, 10ms, CompileRank::calls, 5_MiB);
  for (int i = 0; i < 400 && !world.modules.at(patient).begun; ++i) {
    (void)world.add(me, 20ms);
    world.run(10ms);
  }
  CHECK(world.wait_of(patient) < 3s);
}

TEST_CASE("on a site a tenant's compilers come when he needs them, and go when they are idle") {
  CompilerWorld world({});
  world.obey();
  world.run(1s);
  CHECK(world.children.size() == 2);  // nobody's yet
  (void)world.add(7, 5ms);
  (void)world.add(8, 5ms);
  world.run(1s);
  CHECK(world.count(CompileRank::calls) == 2);
  world.run(58s);
  CHECK(world.count(CompileRank::calls) == 2);
  world.run(2s);
  CHECK(world.count(CompileRank::calls) == 0);
  (void)world.add(7, 5ms);
  world.run(1s);
  CHECK(world.count(CompileRank::calls) == 1);
}

TEST_CASE("the compiler that has been idle for longest makes room for another tenant's") {
  CompilerWorld world({.most_processes = 4});
  world.obey();
  for (std::uint32_t tenant = 1; tenant <= 10; ++tenant) {
    const auto job = world.add(tenant, 5ms);
    world.run(1s);
    CHECK(world.modules.at(job).done.has_value());
    CHECK(world.children.size() <= 4);
  }
}

TEST_CASE("who has used less is served first: many modules of one do not hold up another's") {
  CompilerWorld world({.at_once = 1});
  world.obey();
  world.run(1s);
  for (int i = 0; i < 100; ++i) (void)world.add(1, 40ms);
  world.run(500ms);
  const auto other = world.add(2, 5ms);
  world.run(1s);
  CHECK(world.wait_of(other) <= world.options.slice + world.start_time);
}

TEST_CASE("the time that a late compilation takes does not count against its tenant") {
  CompilerWorld world({.at_once = 1});
  world.obey();
  world.run(1s);
  (void)world.add(1, 60s);
  world.run(200ms);
  for (int i = 0; i < 300; ++i) (void)world.add(2, 40ms);
  world.run(5s);
  const auto small = world.add(1, 5ms);
  world.run(1s);
  CHECK(world.wait_of(small) <= world.options.slice + world.start_time);
}

TEST_CASE("without a core all end and wait; what waited is compiled later") {
  CompilerWorld world(personal());
  world.obey();
  world.run(1s);
  const auto job = world.add(me, 50ms);
  world.run(10ms);
  world.schedule.pause(world.paused = true);
  world.obey();
  world.run(1s);
  CHECK(world.children.empty());
  CHECK(world.schedule.waiting() == 1);
  world.schedule.pause(world.paused = false);
  world.obey();
  world.run(1s);
  CHECK(world.modules.at(job).done.has_value());
}

TEST_CASE(
    "compilers that end before they have a module come again after longer and longer pauses") {
  CompilerWorld world(personal());
  world.obey();
  world.run(1s);
  for (const auto pause : {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    world.crash(world.children.rbegin()->first);
    world.run(pause - 1ms);
    CHECK(world.children.size() == 1);
    world.run(1ms);
    CHECK(world.children.size() == 2);
  }
  (void)world.add(me, 5ms);  // one got as far as that
  world.run(1s);
  world.crash(world.children.rbegin()->first);
  world.run(50ms);
  CHECK(world.children.size() == 2);
}

TEST_CASE("modules that crash their compilers hold up nobody's first call") {
  CompilerWorld world({});
  world.obey();
  world.run(1s);
  for (int i = 0; i < 8; ++i) {
    const auto hostile = world.add(1, 30s);
    world.run(200ms);  // it is late
    world.crash_of(hostile);
    // Its compiler for those that calls wait for has been replaced all the same.
    const auto own = world.add(1, 5ms);
    CHECK(world.wait_of(own) == 0ms);
    const auto tenant = static_cast<std::uint32_t>(100 + i);  // who has no compiler yet
    const auto other = world.add(tenant, 5ms);
    world.run(1s);
    CHECK(world.wait_of(other) == world.start_time);
  }
}

TEST_CASE("random histories: bounds hold, tenants stay apart, and in the end all is compiled") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CompileSchedule::Options options{
        .at_once = 1 + seed % 3, .most_late = 1 + seed % 4, .most_processes = 12};
    if (seed % 2 == 0) options.resident = 1;
    CompilerWorld world(options);
    world.obey();
    for (int step = 0; step < 150; ++step) {
      const unsigned what = random() % 100;
      if (what < 40) {
        const auto length = random() % 10 == 0 ? 1ms * (random() % 20'000) : 1ms * (random() % 60);
        (void)world.add(1 + random() % 5, length,
                        random() % 3 == 0 ? CompileRank::better : CompileRank::calls,
                        ByteCount{random() % 10'000'000});
      } else if (what < 92) {
        world.run(1ms * (random() % 200));
      } else if (what < 95 && !world.children.empty()) {
        auto victim = world.children.begin();
        std::advance(victim, random() % world.children.size());
        world.crash(victim->first);
      } else if (what < 97) {
        world.schedule.pause(world.paused = true);
        world.obey();
        world.run(1ms * (random() % 500));
        world.schedule.pause(world.paused = false);
        world.obey();
      } else {
        world.run(1s * (random() % 70));
      }
    }
    world.run(3h);
    for (const auto& [job, module] : world.modules) CHECK(module.done.has_value());
    CHECK(world.schedule.waiting() == 0);
    CHECK(world.children.size() == (options.resident ? 2U : 0U));
  }
}

}  // namespace orchid::executor
