#include "calls_left.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "flow_process.h"
#include "scratch_folder.h"

namespace orchid::flows {
namespace {

using Json = nlohmann::json;

std::string list_of(const std::vector<std::string>& keys) {
  Json list = Json::array();
  for (const std::string& key : keys)
    list.push_back({{"id", "i-" + std::to_string(list.size())}, {"idempotency_key", key}});
  list.push_back({{"id", "i-without"}});
  return Json{{"invocations", list}}.dump();
}

std::vector<CallLeft> left_of(const std::deque<FlowCall>& calls) {
  std::vector<CallLeft> left;
  for (const FlowCall& call : calls)
    left.push_back({.invocation = key_of_call(call.flow, call.number),
                    .flow = call.flow,
                    .number = call.number});
  return left;
}

}  // namespace

TEST_CASE("a flow's calls are known by their keys, and what looks otherwise is left alone") {
  const std::string flow = "fl-0123456789abcdef";
  const auto calls = parse_calls_left(
      list_of({key_of_call(flow, 12), "fl-12", "fl-mine-of-today-7", "fl-2026-11-28T09:30-7", flow,
               flow + "-", flow + "-x", flow + "x-1", "flow-0123456789abcdef-1"}));
  REQUIRE(calls.has_value());
  REQUIRE(calls->size() == 1);
  CHECK(calls->front().invocation == "i-0");
  CHECK(calls->front().flow == flow);
  CHECK(calls->front().number == 12);
  CHECK_FALSE(parse_calls_left("{}").has_value());
  CHECK_FALSE(parse_calls_left("no JSON").has_value());
}

TEST_CASE("calls that a process had to stop when it ended are cancelled by the next one") {
  const tests::Scratch folder;
  std::vector<CallLeft> left;
  std::vector<std::string> unwanted;
  std::string going;
  {
    Process process(folder);
    going = process.submit();
    const std::string cancelled = process.submit();
    const std::string deleted = process.submit();
    left = left_of(process.calls.open);
    REQUIRE(left.size() > 3);
    (void)process.ask({.ask = FlowAsk::cancel, .flow = cancelled, .key = {}});
    (void)process.ask({.ask = FlowAsk::remove, .flow = deleted, .key = {}});
  }
  for (const CallLeft& call : left)
    if (call.flow != going) unwanted.push_back(call.invocation);
  Process process(folder);
  process.find(left);
  CHECK(process.cancelled == unwanted);
  CHECK(left_of(process.calls.open).size() == left.size() - unwanted.size());
}

TEST_CASE("the gateway is asked for calls that are left once, when a process begins") {
  const tests::Scratch folder;
  Process process(folder);
  CHECK(process.looks_for_calls == 1);
  process.submit();
  process.end_all();
  CHECK(process.looks_for_calls == 1);
}

}  // namespace orchid::flows
