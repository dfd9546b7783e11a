#include "harness/child_process.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "harness/machine.h"

using namespace orchid::bench;
using std::chrono::seconds;

TEST_CASE("the output of a command is returned") {
  const auto text = output_of(
      {.command = {"sh", "-c", "echo $GREETING"}, .environment = {"GREETING=hello"}}, seconds(20));
  REQUIRE(text.has_value());
  CHECK(*text == "hello\n");
}

TEST_CASE("a command that fails is reported with its status and output") {
  const auto text = output_of({.command = {"sh", "-c", "echo oh no; exit 3"}}, seconds(20));
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().message.find("status 3") != std::string::npos);
  CHECK(text.error().message.find("oh no") != std::string::npos);
}

TEST_CASE("a child ends with its owner, and was in the process tree before") {
  pid_t pid = -1;
  {
    const auto child = ChildProcess::start({.command = {"sleep", "100"}});
    REQUIRE(child.has_value());
    pid = child->pid();
    const auto tree = process_tree(::getpid());
    CHECK(std::find(tree.begin(), tree.end(), pid) != tree.end());
    CHECK(cpu_time_of(pid).has_value());
  }
  CHECK(::kill(pid, 0) == -1);
}

TEST_CASE("a pinned child sees one core") {
  const auto cores = allowed_cores();
  REQUIRE_FALSE(cores.empty());
  const auto text = output_of({.command = {"nproc"}, .core = cores.back()}, seconds(20));
  REQUIRE(text.has_value());
  CHECK(*text == "1\n");
}

TEST_CASE("this process has a proportional memory size") {
  const auto size = proportional_memory_of(::getpid());
  REQUIRE(size.has_value());
  CHECK(size->value > 100'000);
}
