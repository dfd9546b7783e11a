// `orchid explain` of flows, as a gateway tells them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "run_orchid.h"

namespace orchid::cli {
namespace {

using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

constexpr auto flow_document = R"json({"id":"fl-0123456789abcdef","name":"sums","state":"running",
  "submitted":"2026-01-01T00:00:00Z","nodes_total":3,"nodes_done":1,"nodes":[
  {"node":"first","kind":"call","state":"done","done":1,"total":1,"after":[],"calls":[1]},
  {"node":"work","kind":"map","state":"running","done":2,"total":9,"after":["first"],"calls":[2,7],
   "why":"granularity: 4 pieces a call"},
  {"node":"last","kind":"call","state":"waiting","done":0,"total":0,"after":["first","work"],
   "calls":[]}]})json";

/// Its calls have keys that begin alike.
constexpr auto calls = R"json({"invocations":[
  {"id":"i-0000000000000070","idempotency_key":"fl-0123456789abcdef-70"},
  {"id":"i-0000000000000007","idempotency_key":"fl-0123456789abcdef-7"}]})json";

FakeAnswer answer(const FakeRequest& request) {
  const auto asks = [&](const char* begin) { return request.target.starts_with(begin); };
  if (asks("/v1/flows/fl-0123456789abcdef")) return {.body = flow_document};
  if (asks("/v1/invocations?")) return {.body = calls};
  if (asks("/v1/invocations/i-0000000000000007"))
    return {.body = R"({"id":"i-0000000000000007","lease":"l-3-17","node":"n1"})"};
  if (asks("/v1/leases/l-3-17/placement"))
    return {.body = R"({"decisions":[{"placed":true,"policy":"pack","age_ms":5,"chosen":["n1"],
                        "alternatives":[]}]})"};
  return {.status = 404, .body = R"({"code":"not_found","detail":"there is no such thing"})"};
}

bool tells(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a node of a flow is explained by what was decided of it, and by its newest call") {
  FakeGateway gateway(answer);
  const Ran work = orchid(gateway, {"explain", "fl-0123456789abcdef", "work"});
  CHECK(work.status == 0);
  CHECK(
      work.out.starts_with("node work of flow sums (fl-0123456789abcdef): running, 2 of 9\n"
                           "  granularity: 4 pieces a call\n"
                           "its newest call, i-0000000000000007:\n"
                           "the call ran on n1, in a worker of lease l-3-17\n"
                           "placed (policy pack, "));
  const Ran as_json = orchid(gateway, {"explain", "--json", "fl-0123456789abcdef", "work"});
  const auto document = nlohmann::json::parse(as_json.out);
  CHECK(document.at("node").at("why") == "granularity: 4 pieces a call");
  CHECK(document.at("invocation") == "i-0000000000000007");
}

TEST_CASE("of a node whose newest call is not listed, that is told") {
  FakeGateway gateway(answer);
  const Ran first = orchid(gateway, {"explain", "fl-0123456789abcdef", "first"});
  CHECK(first.status == 0);
  CHECK(tells(first.out, "  its newest call is not listed any more, or not yet\n"));
  const Ran last = orchid(gateway, {"explain", "fl-0123456789abcdef", "last"});
  CHECK_FALSE(tells(last.out, "newest call"));  // there is none
}

TEST_CASE("of a node that waits, it is told for what") {
  FakeGateway gateway(answer);
  const Ran last = orchid(gateway, {"explain", "fl-0123456789abcdef", "last"});
  CHECK(last.status == 0);
  CHECK(tells(last.out, "no optimiser has decided anything of it"));
  CHECK(tells(last.out, "  it waits for work (running)\n"));
}

TEST_CASE("without a node all nodes of a flow are explained") {
  FakeGateway gateway(answer);
  const Ran all = orchid(gateway, {"explain", "fl-0123456789abcdef"});
  CHECK(all.status == 0);
  CHECK(tells(all.out, "granularity: 4 pieces a call"));
  CHECK(tells(all.out, "waits for work (running)"));
  const Ran as_json = orchid(gateway, {"explain", "--json", "fl-0123456789abcdef"});
  CHECK(nlohmann::json::parse(as_json.out).at("nodes").size() == 3);
}

TEST_CASE("what is no node, no flow or no id is told") {
  FakeGateway gateway(answer);
  const Ran none = orchid(gateway, {"explain", "fl-0123456789abcdef", "wrok"});
  CHECK(none.status == 2);
  CHECK(tells(none.err, "has no node 'wrok'; it has: first, work, last"));
  CHECK(orchid(gateway, {"explain", "fl-ffffffffffffffff"}).status == 2);
  CHECK(tells(orchid(gateway, {"explain", "i-0000000000000007", "work"}).err, "only flows have"));
  CHECK(tells(orchid(gateway, {"explain", "fl-7"}).err, "'fl-7' is not an id"));
}

}  // namespace orchid::cli
