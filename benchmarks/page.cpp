// benchmarks/page.cpp: does the page stay fluid while a thousand calls or changes of a flow's nodes
// come in a second, and how soon does it paint?
//
// A browser without a screen looks at the list of invocations, and at a flow of a thousand nodes
// that runs, and scrolls in both; see benchmarks/page/visits.py. A task of the page's thread above
// 50 ms is one that people notice; Chromium's trace has all tasks.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
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

void add_rows(Bench& bench, const std::vector<nlohmann::json>& visits, const Measurement& row,
              const char* field) {
  std::vector<std::vector<double>> series;
  for (const nlohmann::json& one : visits) series.push_back({one.at(field).get<double>()});
  for (Row& made : rows_of(bench.name(), row, series)) bench.add(std::move(made));
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  using namespace orchid::bench;
  Bench bench{"page", argc, argv};
  const std::vector<nlohmann::json> visits = visit(bench.rounds());
  const auto at_most = [](double bound) {
    return std::vector{Promise{Statistic::p50, {Target::Direction::at_most, bound}}};
  };
  add_rows(bench, visits,
           {.row = "first paint", .unit = "ms", .round = {}, .promises = at_most(300)},
           "first_paint_ms");
  add_rows(bench, visits,
           {.row = "the view stands", .unit = "ms", .round = {}, .promises = at_most(300)},
           "view_ms");
  add_rows(bench, visits,
           {.row = "invocations: tasks above 50 ms in 5 s",
            .unit = "",
            .round = {},
            .promises = at_most(0)},
           "long_tasks");
  add_rows(bench, visits,
           {.row = "invocations: those with a core for so long",
            .unit = "",
            .round = {},
            .promises = at_most(0)},
           "busy_tasks");
  add_rows(bench, visits,
           {.row = "invocations: calls meanwhile", .unit = "/s", .round = {}, .promises = {}},
           "calls_per_second");
  add_rows(bench, visits,
           {.row = "flow of 1 000 nodes: tasks above 50 ms in 5 s",
            .unit = "",
            .round = {},
            .promises = at_most(0)},
           "flow_long_tasks");
  add_rows(bench, visits,
           {.row = "flow of 1 000 nodes: those with a core for so long",
            .unit = "",
            .round = {},
            .promises = at_most(0)},
           "flow_busy_tasks");
  add_rows(
      bench, visits,
      {.row = "flow of 1 000 nodes: events of nodes", .unit = "/s", .round = {}, .promises = {}},
      "flow_events_per_second");
  return bench.report();
}
