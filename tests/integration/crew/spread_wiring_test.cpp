// A crew at two executors while it is wired, and one of its members is not told of the others.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "lane_relay.h"
#include "spread_fixture.h"

namespace orchid::tests {
namespace {

/// The crew has stood, and is formed anew. What the client tells the first executor's members is
/// held back: so those at the second one greet the client, wait for the others, and do not go on.
struct HaltedWiring : SpreadFixture {
  std::atomic<bool> holds = false;
  std::atomic<bool> held = false;
  std::atomic<std::int64_t> first_member = 0;  // its process, of the crew that is wired
  LaneRelay relay{first.lane_socket(), [this](LaneMessage& message, std::vector<UniqueFd>&) {
                    const auto* claimed = std::get_if<LaneClaimed>(&message);
                    if (holds && claimed != nullptr && claimed->member == 1)
                      first_member = claimed->pid;
                    if (holds && std::holds_alternative<LaneWire>(message)) {
                      held = true;
                      holds.wait(true);
                    }
                    return LaneRelay::Verdict::passes;
                  }};
  std::optional<Crew> crew = take({.workers = 4, .within = seconds(30)}, false, relay.path());
  CrewFunction walk = CrewFixture::entry(*crew, "walk");

  HaltedWiring() {
    holds = true;
    CHECK(::kill(static_cast<pid_t>(crew->pids().at(1)), SIGKILL) == 0);
    CHECK(eventually([&] { return held.load(); }));
  }
  ~HaltedWiring() { go_on(); }
  void go_on() {
    holds = false;
    holds.notify_all();
  }
};

}  // namespace

TEST_CASE_FIXTURE(HaltedWiring, "a call's deadline passes while its crew is wired") {
  check_clear(error_of([&] {
                (void)walk.invoke(3, bytes_of({.left = 1}), {.deadline = milliseconds(300)});
              }),
              ErrorKind::deadline_exceeded);
  go_on();
  // The same members go on: nobody has given them up meanwhile.
  CHECK(eventually([&] { return crew->pids().size() == 4; }));
  CHECK(crew->formations() == 2);
  CHECK(std::ranges::count(crew->pids(), first_member.load()) == 1);
  const Walk asked{.left = 9, .stride = 1};
  CHECK(walk_of(walk.invoke(3, bytes_of(asked))).sum == sum_of(asked, 3, 4));
}

TEST_CASE_FIXTURE(HaltedWiring, "a crew is released while it is wired") {
  std::promise<void> released;
  std::thread releasing([&] {
    crew->release();
    released.set_value();
  });
  // A wiring takes 10 s if nobody stops it.
  CHECK(released.get_future().wait_for(seconds(8)) == std::future_status::ready);
  releasing.join();
}

}  // namespace orchid::tests
