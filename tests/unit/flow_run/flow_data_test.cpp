// Data of flows that is kept as files, or is away, with a gateway that answers as the test says.
#include "flow_run/flow_data.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fake_gateway.h"
#include "flow_run/deployed_functions.h"

namespace orchid::flow {
namespace {

using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

FakeAnswer problem(int status, const std::string& code) {
  return {.status = status,
          .body = R"({"type":"urn:orchid:problem:)" + code + R"(","detail":"so it is"})"};
}

FakeAnswer document() {
  return {.body = R"({"id":"d-00000000000000000000000000000001","name":null,"version":null,)"
                  R"("bytes":8,"state":"sealed","durable":true,"hosts":["n1"]})"};
}

/// Gives one answer after the other, and the last one again and again.
class Answers {
 public:
  explicit Answers(std::vector<FakeAnswer> all) : all_(all.begin(), all.end()) {}
  FakeAnswer operator()(const FakeRequest& /*request*/) {
    FakeAnswer next = all_.front();
    if (all_.size() > 1) all_.pop_front();
    return next;
  }

 private:
  std::deque<FakeAnswer> all_;
};

DataId id_of(std::uint8_t number) {
  DataId id;
  id.bytes.back() = std::byte{number};
  return id;
}

CallFailed failed_with(const std::string& outcome, std::vector<DataId> lost = {}) {
  return {.call = {.run = 0, .number = 7},
          .outcome = outcome,
          .message = "it happens",
          .lost = std::move(lost)};
}

}  // namespace

TEST_CASE("an object is kept as a file, for a week") {
  FakeGateway gateway(Answers({document()}));
  Client client({.gateway = gateway.address()});
  const auto told = try_to_keep(client, {.run = 0, .number = 7}, id_of(1));
  REQUIRE(told.has_value());
  REQUIRE(std::holds_alternative<Answered>(*told));
  CHECK(std::get<Answered>(*told).output.empty());
  REQUIRE(gateway.requests().size() == 1);
  CHECK(gateway.requests()[0].target == "/v1/data/" + to_string(id_of(1)) + "/durable");
  CHECK(gateway.requests()[0].body == R"({"expires_in":604800})");
}

TEST_CASE("what cannot be kept now is asked for again, and else the reason is told") {
  FakeGateway gateway(Answers({problem(503, "unreachable"), problem(503, "no_capacity"),
                               problem(501, "unsupported"), problem(410, "data_lost")}));
  Client client({.gateway = gateway.address()});
  const CallId call{.run = 0, .number = 7};
  CHECK_FALSE(try_to_keep(client, call, id_of(1)).has_value());
  CHECK_FALSE(try_to_keep(client, call, id_of(1)).has_value());
  const auto refused = try_to_keep(client, call, id_of(1));
  CHECK(std::get<CallFailed>(*refused).outcome == "unsupported");
  CHECK(std::get<CallFailed>(*refused).lost.empty());
  const auto lost = try_to_keep(client, call, id_of(1));
  CHECK(std::get<CallFailed>(*lost).outcome == "data_lost");
  CHECK(std::get<CallFailed>(*lost).lost == std::vector{id_of(1)});
}

TEST_CASE("what is in a file is waited for, and everything else is lost at once") {
  FakeGateway gateway(Answers({problem(410, "data_lost"), problem(404, "not_found"), document()}));
  Client client({.gateway = gateway.address()});
  const std::vector<DataId> given{id_of(1), id_of(2)};
  const std::vector<DataId> kept{id_of(1)};
  unsigned pauses = 0;
  const auto pause = [&] {
    ++pauses;
    return true;
  };
  const auto back = wait_for_data(client, {.given = given, .kept = kept},
                                  failed_with("data_lost", {id_of(1)}), pause);
  REQUIRE(back.has_value());
  CHECK(back->outcome == "data_returned");
  CHECK(back->lost.empty());
  CHECK(pauses == 2);
  // The other one is made again meanwhile.
  const auto both = wait_for_data(client, {.given = given, .kept = kept},
                                  failed_with("data_lost", {id_of(1), id_of(2)}), pause);
  CHECK(both->outcome == "data_lost");
  CHECK(both->lost == std::vector{id_of(2)});
  const auto other =
      wait_for_data(client, {.given = given, .kept = kept}, failed_with("function_error"), pause);
  CHECK(other->outcome == "function_error");
  CHECK(pauses == 2);
}

TEST_CASE("nobody waits for a call that is not wanted any more") {
  FakeGateway gateway(Answers({problem(410, "data_lost")}));
  Client client({.gateway = gateway.address()});
  const std::vector<DataId> all{id_of(1)};
  CHECK_FALSE(
      wait_for_data(client, {.given = all, .kept = all}, failed_with("data_lost", {id_of(1)}), [] {
        return false;
      }).has_value());
}

TEST_CASE("a gateway that does not know yet what there is, is asked until it does") {
  const std::vector<DataId> given{id_of(1)};
  const std::vector<DataId> none;
  const auto pause = [] { return true; };
  {
    FakeGateway gateway(Answers({problem(503, "unreachable"), document()}));
    Client client({.gateway = gateway.address()});
    const auto told =
        wait_for_data(client, {.given = given, .kept = none}, failed_with("no_capacity"), pause);
    CHECK(told->outcome == "data_returned");
  }
  FakeGateway gateway(Answers({problem(503, "unreachable"), problem(404, "not_found")}));
  Client client({.gateway = gateway.address()});
  const auto told =
      wait_for_data(client, {.given = given, .kept = none}, failed_with("no_capacity"), pause);
  CHECK(told->outcome == "data_lost");
  CHECK(told->lost == given);
}

TEST_CASE("whether somebody keeps files is asked of the hosts that are there") {
  const auto may_keep = [](const std::string& executors) {
    FakeGateway gateway([&](const FakeRequest&) {
      return FakeAnswer{.body = R"({"hosts":[{"executors":[)" + executors + "]}]}"};
    });
    Client client({.gateway = gateway.address()});
    return DeployedFunctions(&client).may_keep_files();
  };
  const std::string plain = R"({"state":"connected","keeps_data":false})";
  CHECK_FALSE(may_keep(plain));
  CHECK(may_keep(plain + R"(,{"state":"connected","keeps_data":true})"));
  CHECK_FALSE(may_keep(plain + R"(,{"state":"lost","keeps_data":true})"));
  CHECK(may_keep(""));  // one may come
  CHECK(may_keep(R"({"state":"connected"})"));
}

}  // namespace orchid::flow
