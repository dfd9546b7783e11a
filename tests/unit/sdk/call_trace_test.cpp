// The path of a call of a crew, out of its log.
#include "crew/call_trace.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace orchid::sdk {

TEST_CASE("steps are found between the lines of a log") {
  const Trace trace = split_trace(
      "\x1e"
      "3 walk 12000\nI was here\n\x1e"
      "1 end 900\nand here");
  REQUIRE(trace.path.size() == 2);
  CHECK(trace.path[0].member == 3);
  CHECK(trace.path[0].entry == "walk");
  CHECK(trace.path[0].run == std::chrono::microseconds(12));
  CHECK(trace.path[1].entry == "end");
  CHECK(trace.log == "[member 3: walk, 12 us]\nI was here\n[member 1: end, 0 us]\nand here");
}

TEST_CASE("what only looks like a step is part of the log") {
  for (const std::string line : {"\x1e"
                                 "65 walk 1\n",
                                 "\x1ex walk 1\n",
                                 "\x1e"
                                 "1 wa-lk 1\n",
                                 "\x1e"
                                 "1 walk -1\n",
                                 "\x1e\n",
                                 "\x1e"
                                 "1 walk 99999999999999999999\n",
                                 "\x1e"
                                 "1 walk 1",
                                 "1 walk 1\n",
                                 "\x1e"
                                 "1 walk\n"}) {
    CAPTURE(line);
    const Trace trace = split_trace(line);
    CHECK(trace.path.empty());
    CHECK(trace.log == line);
  }
  CHECK(split_trace("").path.empty());
}

TEST_CASE("the gateway is told all of it") {
  TracedCall call{.function = "chase.walk", .member = 2, .outcome = "ok"};
  call.trace = split_trace(
      "\x1e"
      "2 walk 5\n");
  const auto json = nlohmann::json::parse(calls_document({call}));
  CHECK(json.at("calls").at(0).at("function") == "chase.walk");
  CHECK(json.at("calls").at(0).at("path").at(0).at("run_ns") == 5);
}

}  // namespace orchid::sdk
