// Processes that are killed or stopped from outside: the call gets its outcome, and the executor
// heals by itself.
#include <poll.h>
#include <signal.h>

#include "executor_fixture.h"
#include "protocol/limits.h"
#include "transport/secure_channel.h"

namespace orchid::tests {

using namespace std::chrono_literals;

namespace {

/// Polls `condition` until it holds or 10 s are over.
template <typename Condition>
bool eventually(Condition condition) {
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (std::chrono::steady_clock::now() < give_up)
    if (condition()) return true;
  return false;
}

}  // namespace

TEST_CASE_FIXTURE(ExecutorFixture, "a worker that is killed loses its call, and is replaced") {
  const LaneSlot slot = worker.load(test_function("loops"));
  (void)worker.start(slot, "");
  REQUIRE(eventually([&] { return worker.lane().in_flight() == 1; }));
  ::kill(worker.pid(), SIGKILL);
  const auto reply = worker.finish();
  CHECK(reply.ended);
  CHECK(reply.outcome == Outcome::worker_lost);
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "a worker that is stopped is replaced at once, idle or busy") {
  const LaneSlot slot = worker.load(test_function("loops"));
  (void)worker.start(slot, "");
  ::kill(worker.pid(), SIGSTOP);
  const auto reply = worker.finish();
  CHECK(reply.ended);
  CHECK(reply.outcome == Outcome::worker_lost);
  ::kill(worker.pid(), SIGSTOP);
  CHECK(std::holds_alternative<LaneEnded>(worker.receive()));
  CHECK(std::holds_alternative<LaneClaimed>(worker.receive()));
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "a zygote that is killed or stopped is started anew; workers live on") {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    CAPTURE(signal);
    const pid_t before = executor.zygote();
    ::kill(before, signal);
    CHECK(call("counts_calls").outcome == Outcome::ok);
    REQUIRE(eventually([&] { return executor.zygote() != before && executor.zygote() > 0; }));
    // Replacements come from the new one.
    for (int i = 0; i < 4; ++i) CHECK(call("exits").outcome == Outcome::function_exited);
  }
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "a compiler that is killed or stopped is started anew and asked again") {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    CAPTURE(signal);
    ::kill(executor.compiler(), signal);
    CHECK(call(signal == SIGKILL ? "returns_error" : "counts_calls").outcome !=
          Outcome::worker_lost);
  }
}

TEST_CASE_FIXTURE(ExecutorFixture, "cancel asks the function to stop, then stops it") {
  const LaneSlot polite = worker.load(test_function("loops_politely"));
  worker.cancel(worker.start(polite, ""));
  const auto stopped = worker.finish();
  CHECK_FALSE(stopped.ended);
  CHECK(stopped.output == "stopped");
  const LaneSlot rude = worker.load(test_function("loops"));
  worker.cancel(worker.start(rude, ""));
  const auto killed = worker.finish();
  CHECK(killed.ended);
  CHECK(killed.outcome == Outcome::cancelled);
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "a client's `replace` gets a fresh worker") {
  const pid_t before = worker.pid();
  worker.send(LaneReplace{"it takes no call"});
  CHECK(std::holds_alternative<LaneEnded>(worker.receive()));
  CHECK(std::holds_alternative<LaneClaimed>(worker.receive()));
  CHECK(worker.pid() != before);
  check_next_call();
}

TEST_CASE("a wrong secret, an unknown lease, a second claim and nonsense are refused") {
  LocalExecutor executor({.programs = PROGRAMS});
  const auto refused = [&](const std::string& first) {
    auto socket = connect_packets(executor.lane_socket()).value();
    REQUIRE(send_packet(socket.get(), first).has_value());
    auto packet = receive_packet(socket.get(), true).value();
    auto message = parse_lane_message(packet->text).value();
    REQUIRE(std::holds_alternative<LaneRefused>(message));
    return std::get<LaneRefused>(message).code;
  };
  const auto lease = executor.open_lease();
  CHECK(refused(encode(LaneMessage(LaneClaim{lease.id, std::string(64, '0')}))) ==
        ErrorCode::denied);
  CHECK(refused(encode(LaneMessage(LaneClaim{{1, 999}, lease.secret}))) == ErrorCode::denied);
  CHECK(refused(encode(LaneMessage(LaneAnnounce{"sha256:" + std::string(64, 'a')}))) ==
        ErrorCode::denied);
  CHECK(refused("{") == ErrorCode::bad_request);
  CHECK(refused(R"({"type":"claimed"})") == ErrorCode::bad_request);
}

TEST_CASE("a worker to which no client of another host comes is replaced") {
  if (lane_under_test() != LaneKind::ucx) return;  // within a host there is nothing to connect to
  LocalExecutor executor({.programs = PROGRAMS, .remote = true});
  const auto lease = executor.open_lease();
  const auto give_up = std::chrono::steady_clock::now() + 2 * limits::lease_claim;
  auto channel = transport::SecureChannel::connect({.address = executor.lane_address(),
                                                    .identity = to_string(lease.id),
                                                    .secret = lease.secret},
                                                   give_up)
                     .value();
  const auto next = [&] {
    for (;;) {
      if (auto packet = channel.receive().value()) return parse_lane_message(packet->text).value();
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      pollfd wait{.fd = channel.descriptor(), .events = POLLIN, .revents = 0};
      (void)::poll(&wait, 1, 1000);
    }
  };
  REQUIRE(
      channel.send(encode(LaneMessage(LaneClaim{.lease = lease.id, .secret = lease.secret})), {})
          .has_value());
  const LaneMessage first = next();
  REQUIRE(std::holds_alternative<LaneClaimed>(first));
  const LaneMessage ended = next();
  REQUIRE(std::holds_alternative<LaneEnded>(ended));
  CHECK(contains(std::get<LaneEnded>(ended).message, "did not connect"));
  const LaneMessage second = next();
  REQUIRE(std::holds_alternative<LaneClaimed>(second));
  CHECK(std::get<LaneClaimed>(second).pid != std::get<LaneClaimed>(first).pid);
}

}  // namespace orchid::tests
