#include <doctest/doctest.h>

#include <thread>

#include "fake_gateway.h"
#include "processes/child_process.h"
#include "scratch_folder.h"
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

processes::ChildProcess start_shell(const std::string& script) {
  auto child = processes::ChildProcess::start({.program = "/bin/sh", .arguments = {"-c", script}});
  REQUIRE(child.has_value());
  return std::move(*child);
}

}  // namespace

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
  const tests::Scratch scratch;
  const auto deep = scratch / std::string(120, 'd');
  std::filesystem::create_directory(deep);
  for (const auto& directory : {scratch.path(), deep}) {
    auto socket = NotifySocket::open(directory);
    REQUIRE(socket.has_value());
    CHECK_FALSE(socket->receive().has_value());
    const processes::ChildProcess child = start_shell(
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
  const tests::Scratch scratch;
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
