// benchmarks/page.cpp: does the page stay fluid while a thousand calls or changes of a flow's nodes
// come in a second, and how soon does it paint?
//
// A browser without a screen looks at the list of invocations, and at a flow of a thousand nodes
// that runs, and scrolls in both; see benchmarks/page/visits.py. A task of the page's thread above
// 50 ms is one that people notice; Chromium's trace has all tasks.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench.h"
#include "harness/child_process.h"

namespace orchid::bench {
namespace {

constexpr const char* seconds_of_a_visit = "5";

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "page: %s\n", message.c_str());
  std::exit(3);
}

std::vector<nlohmann::json> visit(int visits) {
  const auto said = output_of({.command = {"/usr/bin/python3", "-B", VISITS, PROGRAMS, SOURCES,
                                           std::to_string(visits), seconds_of_a_visit}},
                              std::chrono::seconds(120) + visits * std::chrono::seconds(120));
  if (!said) give_up(said.error().message);
  std::vector<nlohmann::json> all;
  std::istringstream lines(*said);
  for (std::string line; std::getline(lines, line);) {
    auto one = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!one.is_object()) give_up("a visit says '" + line + "'");
    all.push_back(std::move(one));
  }
  if (all.size() != static_cast<std::size_t>(visits)) give_up("there were fewer visits");
  return all;
}

struct Told {
  const char* row;
  const char* unit;
  const char* field;  // of a visit
  std::optional<double> at_most{};
};

constexpr std::array told{
    Told{"first paint", "ms", "first_paint_ms", 300},
    Told{"the view stands", "ms", "view_ms", 300},
    Told{"invocations: tasks above 50 ms in 5 s", "", "long_tasks", 0},
    Told{"invocations: those with a core for so long", "", "busy_tasks", 0},
    Told{"invocations: calls meanwhile", "/s", "calls_per_second"},
    Told{"flow of 1 000 nodes: tasks above 50 ms in 5 s", "", "flow_long_tasks", 0},
    Told{"flow of 1 000 nodes: those with a core for so long", "", "flow_busy_tasks", 0},
    Told{"flow of 1 000 nodes: events of nodes", "/s", "flow_events_per_second"},
};

void add_rows(Bench& bench, const std::vector<nlohmann::json>& visits, const Told& one) {
  Measurement row{.row = one.row, .unit = one.unit, .round = {}, .promises = {}};
  if (one.at_most) row.promises = {{Statistic::p50, {Target::Direction::at_most, *one.at_most}}};
  std::vector<std::vector<double>> series;
  for (const nlohmann::json& visit : visits) series.push_back({visit.at(one.field).get<double>()});
  for (Row& made : rows_of(bench.name(), row, series)) bench.add(std::move(made));
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  using namespace orchid::bench;
  Bench bench{"page", argc, argv};
  const std::vector<nlohmann::json> visits = visit(bench.rounds());
  for (const Told& one : told) add_rows(bench, visits, one);
  return bench.report();
}
