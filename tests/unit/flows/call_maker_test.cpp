// Calls of submitted flows, through a gateway that is a fake.
#include "call_maker.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "arrivals.h"
#include "fake_gateway.h"

using namespace orchid;
using namespace orchid::flows;
using namespace std::chrono_literals;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

namespace {

FlowCall call_to(const std::string& function, std::uint64_t number) {
  return {.flow = "fl-1", .number = number, .function = function, .deadline = 60s};
}

/// The number of the call that ends next; 0: none does within half a minute.
std::uint64_t next_end(Arrivals& arrivals) {
  for (const Arrival& one : arrivals.take(30s))
    if (const auto* ended = std::get_if<CallEnded>(&one))
      if (const auto* answered = std::get_if<flow::Answered>(&ended->event))
        return answered->call.number;
  return 0;
}

}  // namespace

TEST_CASE("a call begins at once beside one that pauses until there is room for it") {
  FakeGateway gateway([](const FakeRequest& request) {
    if (request.target.find("full") == std::string::npos) return FakeAnswer{.body = "out"};
    return FakeAnswer{.status = 503, .body = R"({"code":"no_capacity","detail":"no room"})"};
  });
  Client client({.gateway = gateway.address()});
  Arrivals arrivals;
  CallMaker maker(client, arrivals, 2);
  maker.start(call_to("full", 1));
  // Each is taken by the one other thread, though the one that pauses has waited for longer.
  for (std::uint64_t number = 2; number < 200; ++number) {
    maker.start(call_to("free", number));
    REQUIRE(next_end(arrivals) == number);
  }
  maker.stop("fl-1", 1);
}
