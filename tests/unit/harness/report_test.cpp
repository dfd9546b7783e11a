#include "harness/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace orchid::bench;

namespace {

Row compared_row(Verdict verdict) {
  return {.benchmark = "lane_latency",
          .row = "echo 8 B",
          .unit = "us",
          .value = {0.15, 0.2},
          .baseline = Description{"raw UCX", "ucx_perftest -t am", "UCX_TLS=posix,self"},
          .baseline_value = {0.34, 0.4},
          .ratio = 0.44,
          .interval = {0.43, 0.45},
          .target = Target{Target::Direction::at_most, 0.9},
          .verdict = verdict};
}

}  // namespace

TEST_CASE("a target looks at the favourable end of the interval") {
  const Target at_most{Target::Direction::at_most, 0.9};
  CHECK(at_most.met_by({0.89, 0.95}));
  CHECK_FALSE(at_most.met_by({0.91, 0.95}));
  const Target at_least{Target::Direction::at_least, 2};
  CHECK(at_least.met_by({1.9, 2.1}));
  CHECK_FALSE(at_least.met_by({1.8, 1.9}));
}

TEST_CASE("the JSON has every promised field") {
  const auto json = nlohmann::json::parse(json_of({compared_row(Verdict::met)}));
  REQUIRE(json.size() == 1);
  CHECK(json[0]["benchmark"] == "lane_latency");
  CHECK(json[0]["row"] == "echo 8 B");
  CHECK(json[0]["unit"] == "us");
  CHECK(json[0]["p50"] == 0.15);
  CHECK(json[0]["p99"] == 0.2);
  CHECK(json[0]["baseline"]["what"] == "raw UCX");
  CHECK(json[0]["baseline"]["command"] == "ucx_perftest -t am");
  CHECK(json[0]["baseline"]["environment"] == "UCX_TLS=posix,self");
  CHECK(json[0]["baseline"]["p50"] == 0.34);
  CHECK(json[0]["baseline"]["p99"] == 0.4);
  CHECK(json[0]["ratio"] == 0.44);
  CHECK(json[0]["target"] == "<= 0.9");
  CHECK(json[0]["met"] == true);
}

TEST_CASE("a row without a baseline or a target says so with null") {
  const auto json = nlohmann::json::parse(
      json_of({{.benchmark = "cold_start", .row = "memory", .unit = "MB", .value = {4, 5}}}));
  CHECK(json[0]["baseline"].is_null());
  CHECK(json[0]["ratio"].is_null());
  CHECK(json[0]["met"].is_null());
}

TEST_CASE("a missed target is printed as missed") {
  CHECK(table_of({compared_row(Verdict::missed)}).find("MISSED") != std::string::npos);
  CHECK(table_of({compared_row(Verdict::met)}).find("UCX_TLS=posix,self") != std::string::npos);
}

TEST_CASE("the exit status is 0 for met, 1 for missed, 2 for inconclusive") {
  CHECK(exit_status_of({compared_row(Verdict::met), compared_row(Verdict::measured)}) == 0);
  CHECK(exit_status_of({compared_row(Verdict::met), compared_row(Verdict::missed)}) == 1);
  CHECK(exit_status_of({compared_row(Verdict::missed), compared_row(Verdict::inconclusive)}) == 2);
}
