// The gateway's side of a tenant's flows, with processes that answer, end, lie, or say nothing.
#include "flows/flow_process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

namespace orchid::gateway {
namespace {

constexpr std::chrono::seconds deadline{30};

class MovableClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override {
    return std::chrono::steady_clock::now() + ahead;
  }
  [[nodiscard]] WallTime wall_now() const override { return std::chrono::system_clock::now(); }
  std::chrono::seconds ahead{0};
};

struct Flows {
  explicit Flows(const std::string& way)
      : process(io, clock,
                {.program = FAKE_FLOWS, .arguments = {way}, .tenant = {.uid = 12, .name = "ada"}},
                [this](UniqueFd socket, const Tenant& tenant) {
                  connection = std::move(socket);
                  connected = tenant;
                }) {}
  ~Flows() { process.stop(); }

  /// Runs until there is an answer.
  Result<FlowReply> ask() {
    std::optional<Result<FlowReply>> answer;
    process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}}, {},
                [&answer](Result<FlowReply> reply) { answer = std::move(reply); });
    run_until([&answer] { return answer.has_value(); });
    return std::move(*answer);
  }
  template <typename Condition>
  void run_until(Condition is_met) {
    const auto give_up = std::chrono::steady_clock::now() + deadline;
    while (!is_met()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.restart();
      io.run_one_for(std::chrono::milliseconds(20));
      process.tick();
    }
  }

  boost::asio::io_context io;
  MovableClock clock;
  UniqueFd connection;
  std::optional<Tenant> connected;
  FlowProcess process;
};

}  // namespace

TEST_CASE("what is asked of a tenant's flows before their process runs is answered when it does") {
  Flows flows("answers");
  std::optional<Result<FlowReply>> first;
  flows.process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}}, {},
                    [&first](Result<FlowReply> reply) { first = std::move(reply); });
  flows.process.start();
  flows.run_until([&first] { return first.has_value(); });
  REQUIRE(first->has_value());
  CHECK((*first)->answer.content == FlowContent::nothing);
  CHECK(flows.ask().value().answer.number == 2);
}

TEST_CASE("a connection that flows ask for is their tenant's") {
  Flows flows("dials");
  flows.process.start();
  REQUIRE(flows.ask().has_value());
  REQUIRE(flows.connected.has_value());
  CHECK(flows.connected->uid == 12);
  std::array<char, 8> said{};
  CHECK(::read(flows.connection.get(), said.data(), said.size()) == 5);
  CHECK(std::string(said.data(), 5) == "hello");
}

TEST_CASE("a process of flows that ends, or says what is no message, costs what was asked of it") {
  for (const char* way : {"ends", "lies"}) {
    CAPTURE(way);
    Flows flows(way);
    flows.process.start();
    const auto lost = flows.ask();
    REQUIRE_FALSE(lost.has_value());
    CHECK(lost.error().code == ErrorCode::unreachable);
    // It has been started again, and heard the next request.
    CHECK(flows.ask().error().message.find("started again") != std::string::npos);
  }
}

TEST_CASE("a process of flows that does not answer is given up, and so is it at the end") {
  Flows flows("silent");
  flows.process.start();
  std::optional<Result<FlowReply>> slow;
  std::optional<Result<FlowReply>> last;
  flows.process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}}, {},
                    [&slow](Result<FlowReply> reply) { slow = std::move(reply); });
  flows.clock.ahead = std::chrono::seconds(61);
  flows.process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}}, {},
                    [&last](Result<FlowReply> reply) { last = std::move(reply); });
  flows.process.tick();
  REQUIRE(slow.has_value());
  CHECK(slow->error().message.find("does not answer") != std::string::npos);
  CHECK_FALSE(last.has_value());
  flows.process.stop();
  REQUIRE(last.has_value());
  CHECK(last->error().message.find("stopping") != std::string::npos);
}

}  // namespace orchid::gateway
