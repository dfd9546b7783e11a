#include "children/child_watch.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "event_loop.h"

namespace orchid::executor {
namespace {

struct Children : test::EventLoop {
  /// A process that does nothing until it is killed.
  static pid_t start() {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    return pid;
  }
  static bool is_reaped(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

  ChildWatch watch{io};
};

}  // namespace

TEST_CASE("who watches a child is told of its end, also when that was before") {
  Children children;
  const pid_t pid = Children::start();
  ::kill(pid, SIGKILL);
  children.run_until([&] { return Children::is_reaped(pid); });
  std::optional<ChildEvent> seen;
  children.watch.watch(pid, [&](const ChildEvent& event) { seen = event; });
  children.run_until([&] { return seen.has_value(); });
  CHECK(seen->kind == ChildEvent::Kind::killed);
  CHECK(seen->value == SIGKILL);
  CHECK(children.watch.watched() == 0);
}

TEST_CASE("the end of a forgotten child is not told to who watches the next one of its number") {
  Children children;
  const pid_t pid = Children::start();
  children.watch.watch(pid, [](const ChildEvent&) { FAIL("it was forgotten"); });
  children.watch.forget(pid);
  CHECK(children.watch.watched() == 0);
  ::kill(pid, SIGKILL);
  children.run_until([&] { return Children::is_reaped(pid); });
  // The number is free, and somebody gets it.
  children.watch.watch(pid, [](const ChildEvent&) { FAIL("this child has not ended"); });
  children.io.restart();
  children.io.poll();
  CHECK(children.watch.watched() == 1);
}

TEST_CASE("a child that had ended when it was forgotten is not told of either") {
  Children children;
  const pid_t pid = Children::start();
  ::kill(pid, SIGKILL);
  children.run_until([&] { return Children::is_reaped(pid); });
  children.watch.watch(pid, [](const ChildEvent&) { FAIL("it was forgotten"); });
  children.watch.forget(pid);
  children.watch.watch(pid, [](const ChildEvent&) { FAIL("this child has not ended"); });
  children.io.restart();
  children.io.poll();
  CHECK(children.watch.watched() == 1);
}

}  // namespace orchid::executor
