// benchmarks/flow_memory.cpp: how much memory does a flow with 100 000 nodes in its document take?
//
// `orchid flow run` runs it in the foreground, a few times: the most memory that was ever resident
// of that process. Then it is submitted to a fresh Orchid in each of a few rounds, runs to its end,
// and its outputs are read: the most of what runs it (orchid-flows) and of the gateway. The promise
// is for each of the two ways.
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench.h"
#include "harness/child_process.h"
#include "local_orchid.h"
#include "measured.h"
#include "orchid/client.h"
#include "orchid/submitted_flow.h"
#include "scratch_folder.h"
#include "wide_flow.h"

namespace orchid::bench {
namespace {

constexpr int nodes = 100'000;
constexpr int few_rounds = 3;  // each takes a minute, and one is like the other
constexpr std::chrono::seconds most{300};
constexpr double kib_in_mib = 1024;

/// MiB of all processes of that name. Errors: `internal`, there is none.
Result<double> peak_of(const tests::LocalOrchid& orchid, const std::string& name) {
  double sum = 0;
  for (const pid_t process : orchid.processes()) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    std::string word;
    std::string is;
    double kib = 0;
    while (status >> word) {
      if (word == "Name:") status >> is;
      if (word == "VmHWM:") status >> kib;
    }
    if (is == name) sum += kib / kib_in_mib;
  }
  if (sum == 0) return fail(ErrorCode::internal, "there is no process " + name);
  return sum;
}

Result<void> check_outputs(const std::string& text) {
  const auto outputs = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (outputs.is_object() && outputs.size() == nodes && outputs.value("r0", 0) == 7) return {};
  return fail(ErrorCode::internal, "the flow gave something else");
}

struct Peaks {
  double flows = 0;
  double gateway = 0;
};

Result<Peaks> submitted_once(const std::string& document) {
  const auto orchid = must(tests::LocalOrchid::start(PROGRAMS));
  Client client({.gateway = orchid.address(), .token = orchid.token()});
  client.deploy_file("flow_functions", FLOW_FUNCTIONS);
  const SubmittedFlow flow = client.submit_flow({.document = document, .inputs = {{"n", "7"}}});
  const FlowStatus status = flow.wait(most);
  if (status.state != "done") return fail(ErrorCode::internal, status.state + status.message);
  must(check_outputs(flow.outputs()));
  return Peaks{.flows = must(peak_of(orchid, "orchid-flows")),
               .gateway = must(peak_of(orchid, "orchid-gateway"))};
}

/// The most so far, after each of a few runs. No other child may have ended before: it would count
/// as well.
std::vector<std::vector<double>> peaks_in_foreground(const std::string& file) {
  const auto orchid = must(tests::LocalOrchid::start(PROGRAMS));
  Client client({.gateway = orchid.address(), .token = orchid.token()});
  client.deploy_file("flow_functions", FLOW_FUNCTIONS);
  std::vector<std::vector<double>> peaks;
  for (int round = 0; round < few_rounds; ++round) {
    const std::string printed = must(output_of(
        {.command = {std::string(PROGRAMS) + "/orchid", "flow", "run", file, "--input", "n=7",
                     "--json"},
         .environment = {"ORCHID_GATEWAY=" + orchid.address(), "ORCHID_TOKEN=" + orchid.token()}},
        most));
    if (printed.find("\"done\"") == std::string::npos)
      throw std::runtime_error("the flow in the foreground is not done");
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    peaks.push_back({static_cast<double>(used.ru_maxrss) / kib_in_mib});
  }
  return peaks;
}

void add(Bench& bench, const std::string& row, const std::vector<std::vector<double>>& series,
         std::vector<Promise> promises) {
  for (const Row& one :
       rows_of(bench.name(),
               Measurement{.row = row, .unit = "MiB", .round = {}, .promises = std::move(promises)},
               series))
    bench.add(one);
}

int run(Bench& bench) {
  const std::string document = wide_flow(nodes);
  const tests::Scratch folder;
  const std::string file = (folder.path() / "wide.yaml").string();
  std::ofstream(file) << document;
  std::vector<std::vector<double>> submitted;
  std::vector<std::vector<double>> flows;
  const auto foreground = peaks_in_foreground(file);
  for (int round = 0; round < few_rounds; ++round) {
    const Peaks peaks = must(submitted_once(document));
    submitted.push_back({peaks.flows + peaks.gateway});
    flows.push_back({peaks.flows});
  }
  const Promise promise{Statistic::p50, {Target::Direction::at_most, 1024}};
  add(bench, "100 000 nodes, submitted: orchid-flows and the gateway", submitted, {promise});
  add(bench, "of it orchid-flows", flows, {});
  add(bench, "100 000 nodes in the foreground: orchid flow run", foreground, {promise});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("flow_memory", argc, argv);
  return orchid::bench::run_benchmark(bench, orchid::bench::run);
}
