// Calls of leases that their clients have traced.
#include "leases/call_traces.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "foundation/files.h"

namespace orchid::gateway {
namespace {

constexpr uid_t ann = 1000;
constexpr uid_t ben = 1001;

std::string traced_call_text(const std::string& more = "") {
  return R"({"function":"chase.walk","member":2,"outcome":"ok","message":"","took_ns":5000,)"
         R"("path":[{"member":2,"entry":"walk","run_ns":1200},{"member":1,"entry":"walk","run_ns":7}],)"
         R"("log":"[member 2]")" +
         more + "}";
}
std::string traced_document(const std::string& calls) { return R"({"calls":[)" + calls + "]}"; }

}  // namespace

TEST_CASE("traced calls are told, and shown to their owner") {
  auto calls = parse_traced_calls(as_bytes(traced_document(traced_call_text())));
  REQUIRE_MESSAGE(calls.has_value(), (calls ? "" : calls.error().message));
  CallTraces traces;
  const MonotonicTime now{};
  traces.add(ann, {1, 7}, *calls, now);
  CHECK_FALSE(traces.find(ben, {1, 7}).has_value());
  CHECK_FALSE(traces.find(ann, {1, 8}).has_value());
  const auto found = traces.find(ann, {1, 7});
  REQUIRE(found.has_value());
  const auto shown =
      nlohmann::json::parse(traced_calls_json(*found, now + std::chrono::seconds(3)));
  const auto& call = shown.at("calls").at(0);
  CHECK(call.at("function") == "chase.walk");
  CHECK(call.at("age_ms") == 3000);
  CHECK(call.at("path").at(1).at("member") == 1);
  CHECK(call.at("log") == "[member 2]");
}

TEST_CASE("only so many calls and leases are remembered, the last ones") {
  CallTraces traces;
  for (std::uint64_t lease = 0; lease < CallTraces::most_leases + 5; ++lease)
    for (unsigned call = 0; call < CallTraces::most_calls + 3; ++call)
      traces.add(ann, {1, lease}, {{.function = "f", .member = call}}, {});
  CHECK_FALSE(traces.find(ann, {1, 4}).has_value());
  const auto last = traces.find(ann, {1, CallTraces::most_leases + 4});
  REQUIRE(last.has_value());
  CHECK(last->size() == CallTraces::most_calls);
  CHECK(last->front().member == 3);
}

TEST_CASE("what is no list of calls is refused, by name") {
  const auto fault_of = [](const std::string& text) {
    const auto calls = parse_traced_calls(as_bytes(text));
    return calls ? std::string() : calls.error().message;
  };
  CHECK(fault_of("nonsense").find("the body") != std::string::npos);
  CHECK(fault_of(R"({"calls":[]})").find("'calls'") != std::string::npos);
  CHECK(fault_of(traced_document(traced_call_text(R"(,"more":1)"))).find("more") !=
        std::string::npos);
  CHECK(fault_of(traced_document(R"({"member":65})")).find("member") != std::string::npos);
  CHECK(fault_of(traced_document(R"({"function":")" + std::string(300, 'f') + "\"}"))
            .find("function") != std::string::npos);
  std::string many = traced_call_text();
  for (std::size_t i = 0; i < CallTraces::most_calls; ++i) many += "," + traced_call_text();
  CHECK(fault_of(traced_document(many)).find("'calls'") != std::string::npos);
}

}  // namespace orchid::gateway
