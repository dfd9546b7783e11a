// Processes that are killed or stopped from outside: the call gets its outcome, and the executor
// heals by itself.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>

#include "executor_fixture.h"
#include "foundation/tcp.h"
#include "protocol/limits.h"
#include "readiness.h"
#include "transport/secure_channel.h"
#include "transport/ucx_lane.h"

namespace orchid::tests {

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
    const pid_t before = executor.compiler();
    REQUIRE(before > 0);
    ::kill(before, signal);
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
  worker.send(LaneReplace{.reason = "it takes no call"});
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

namespace {

/// The conversation of a client of another host that has claimed a worker.
class RemoteClaim {
 public:
  explicit RemoteClaim(LocalExecutor& executor) : lease_(executor.open_lease()) {
    auto channel = transport::SecureChannel::connect({.address = executor.lane_address(),
                                                      .identity = to_string(lease_.id),
                                                      .secret = lease_.secret},
                                                     give_up_);
    REQUIRE(channel.has_value());
    channel_.emplace(std::move(*channel));
    REQUIRE(
        channel_
            ->send(encode(LaneMessage(LaneClaim{.lease = lease_.id, .secret = lease_.secret})), {})
            .has_value());
  }
  template <typename Message>
  [[nodiscard]] Message next() {
    for (;;) {
      if (auto packet = channel_->receive().value()) {
        auto message = parse_lane_message(packet->text).value();
        REQUIRE_MESSAGE(std::holds_alternative<Message>(message), packet->text);
        return std::get<Message>(message);
      }
      REQUIRE(std::chrono::steady_clock::now() < give_up_);
      pollfd wait{.fd = channel_->descriptor(), .events = POLLIN, .revents = 0};
      (void)::poll(&wait, 1, 1000);
    }
  }

 private:
  std::chrono::steady_clock::time_point give_up_ =
      std::chrono::steady_clock::now() + 2 * limits::lease_claim;
  LocalExecutor::Lease lease_;
  std::optional<transport::SecureChannel> channel_;
};

std::string address_of(const LocalExecutor& executor, const LaneClaimed& claimed) {
  const std::string& address = executor.lane_address();
  return address.substr(0, address.rfind(':') + 1) + std::to_string(claimed.port);
}

/// The worker has answered the hello of a client, which says nothing more: UCX listens.
UniqueFd begin_wire_up(const std::string& address, const transport::ConnectionKey& key) {
  auto socket = connect_tcp(address, std::chrono::steady_clock::now() + std::chrono::seconds(5),
                            HostNames::refused);
  REQUIRE(socket.has_value());
  std::array<std::byte, 40> hello{};
  std::memcpy(hello.data(), "ORCHLANE", 8);
  hello[8] = std::byte{1};
  std::memcpy(&hello[16], key.data(), key.size());
  hello[32] = std::byte{4};  // a notice of 4 bytes, of which none comes
  REQUIRE(::send(socket->get(), hello.data(), hello.size(), MSG_NOSIGNAL) == 40);
  REQUIRE(is_ready(socket->get(), POLLIN, 10s));
  return std::move(*socket);
}

}  // namespace

TEST_CASE("a worker to which no client of another host comes is replaced") {
  if (lane_under_test() != LaneKind::ucx) return;  // within a host there is nothing to connect to
  LocalExecutor executor({.programs = PROGRAMS, .remote = true});
  RemoteClaim claim(executor);
  const auto first = claim.next<LaneClaimed>();
  CHECK(contains(claim.next<LaneEnded>().message, "did not connect"));
  CHECK(claim.next<LaneClaimed>().pid != first.pid);
}

// What a stranger can make of a worker in that time is in tests/adversary.
TEST_CASE("a worker that crashes while its lane is made is replaced, and the client gets there") {
  if (lane_under_test() != LaneKind::ucx) return;
  LocalExecutor executor(
      {.programs = PROGRAMS, .remote = true, .trusted_fabric = is_fabric_trusted()});
  for (const int signal : {SIGSEGV, SIGABRT}) {
    CAPTURE(signal);
    RemoteClaim claim(executor);
    const auto first = claim.next<LaneClaimed>();
    const auto connecting = begin_wire_up(address_of(executor, first),
                                          transport::parse_connection_key(first.key).value());
    REQUIRE(::kill(static_cast<pid_t>(first.pid), signal) == 0);
    const auto ended = claim.next<LaneEnded>();
    CHECK_FALSE(ended.started);
    const auto second = claim.next<LaneClaimed>();
    CHECK(second.pid != first.pid);
    auto context = transport::UcxContext::create({}).value();
    const auto lane = transport::UcxLaneClient::connect(
        context, {.address = address_of(executor, second),
                  .key = transport::parse_connection_key(second.key).value(),
                  .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10)});
    CHECK(lane.has_value());
  }
}

}  // namespace orchid::tests
