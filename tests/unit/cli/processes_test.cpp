#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "fake_gateway.h"
#include "scratch.h"
#include "supervisor/child_process.h"
#include "supervisor/health_probe.h"
#include "supervisor/notify_socket.h"

namespace orchid::cli {
namespace {

/// Until `condition` holds; false after ten seconds.
template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

ChildProcess start_shell(const std::string& script) {
  auto child = ChildProcess::start(
      {.path = "/bin/sh", .arguments = {"-c", script}, .environment = {{"GREETING", "hello"}}});
  REQUIRE(child.has_value());
  return std::move(*child);
}

int end_of(ChildProcess& child) {
  std::optional<int> status;
  REQUIRE(eventually([&] { return (status = child.reap()).has_value(); }));
  return *status;
}

}  // namespace

TEST_CASE("a child's environment is ours with what was added, and how it ended is told") {
  ChildProcess child = start_shell("test \"$GREETING\" = hello && test -n \"$PATH\" && exit 5");
  const int status = end_of(child);
  CHECK(describe_wait_status(status) == "exit status 5");
  CHECK_FALSE(child.reap().has_value());
}

TEST_CASE("a child that a signal stops is seen as stopped until it goes on") {
  ChildProcess child = start_shell("exec tail -f /dev/null");
  CHECK_FALSE(child.is_stopped());
  child.send_signal(SIGSTOP);
  CHECK(eventually([&] { return child.is_stopped(); }));
  CHECK(child.is_stopped());
  child.send_signal(SIGCONT);
  CHECK(eventually([&] { return !child.is_stopped(); }));
  CHECK_FALSE(child.reap().has_value());
  child.send_signal(SIGKILL);
  CHECK(describe_wait_status(end_of(child)).starts_with("signal 9"));
}

TEST_CASE("the end of the object is the end of the child") {
  pid_t pid = 0;
  {
    const ChildProcess child = start_shell("exec tail -f /dev/null");
    pid = child.pid();
  }
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("a program that is not there ends at once") {
  auto child = ChildProcess::start({.path = "/nonexistent"});
  REQUIRE(child.has_value());
  CHECK(describe_wait_status(end_of(*child)) == "exit status 127");
}

TEST_CASE("signs of life are read line by line") {
  const Notification both = parse_notification("READY=1\nSTATUS=serving\nUNKNOWN=x");
  CHECK(both.ready);
  CHECK(both.alive);
  CHECK(both.status == "serving");
  CHECK(parse_notification("WATCHDOG=1").alive);
  CHECK_FALSE(parse_notification("WATCHDOG=1").ready);
  CHECK(parse_notification("STOPPING=1\n").stopping);
  CHECK_FALSE(parse_notification("").alive);
}

TEST_CASE(
    "a notification comes with its sender as the kernel knows it, also where the path is too "
    "long") {
  const Scratch scratch;
  const auto deep = scratch / std::string(120, 'd');
  std::filesystem::create_directory(deep);
  for (const auto& directory : {scratch.path(), deep}) {
    auto socket = NotifySocket::open(directory);
    REQUIRE(socket.has_value());
    CHECK_FALSE(socket->receive().has_value());
    ChildProcess child = start_shell(
        "exec /usr/bin/python3 -c \"import os, socket; s = socket.socket(socket.AF_UNIX, "
        "socket.SOCK_DGRAM); "
        "a = '" +
        socket->address() +
        "'; s.sendto(b'READY=1', a.replace('@', chr(0), 1) if a[0] == '@' else a)\"");
    std::optional<NotifySocket::Message> message;
    REQUIRE(eventually([&] { return (message = socket->receive()).has_value(); }));
    CHECK(message->sender == child.pid());
    CHECK(message->notification.ready);
  }
}

TEST_CASE("the probe hears a gateway that answers, asks again, and hears nothing from others") {
  const Scratch scratch;
  MonotonicTime now{};
  HealthProbe probe(scratch / "gateway.sock");
  CHECK_FALSE(probe.turn(now));  // nobody is there
  int status = 200;
  {
    tests::FakeGateway gateway(scratch / "gateway.sock", [&status](const tests::FakeRequest&) {
      return tests::FakeAnswer{.status = status};
    });
    now = probe.due();
    CHECK_FALSE(probe.turn(now));
    CHECK(eventually([&] { return probe.turn(now); }));
    CHECK(gateway.requests().size() == 1);
    CHECK(gateway.requests()[0].target == "/healthz");
    CHECK(probe.due() > now);
    status = 500;
    now = probe.due();
    CHECK_FALSE(probe.turn(now));
    CHECK(eventually([&] { return !probe.turn(now) && probe.descriptor() < 0; }));
    CHECK(gateway.requests().size() == 2);
  }
  now = probe.due();
  CHECK_FALSE(probe.turn(now));
}

}  // namespace orchid::cli
