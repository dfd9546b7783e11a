// benchmarks/idw_mpi.cpp: is a map of a flow as fast as an MPI program written by hand?
//
// functions/idw/idw.yaml in the foreground, on two workers of a lease that have a core each,
// against benchmarks/idw_mpi/native.cpp, two ranks on the same cores with the same kernel, from
// clang++-19 -O3 -march=native. Orchid's time is that of the whole flow: the grid is cut, the
// stations go to the workers, and the values come back in one piece. The rival's time is from the
// first message to the last one; its start is not in it.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "foundation/files.h"
#include "foundation/units.h"
#include "harness/bench.h"
#include "harness/child_process.h"
#include "harness/machine.h"
#include "idw_mpi/work.h"
#include "local_orchid.h"
#include "measured_flow.h"
#include "orchid/client.h"

namespace orchid::bench {
namespace {

constexpr unsigned ranks = 2;
constexpr auto bands = "16";  // so that neither worker is left with much at the end
constexpr double tolerance = 1e-6;
constexpr auto patience = std::chrono::seconds(120);

std::string document() {
  const auto content = read_file(SOURCES "/functions/idw/idw.yaml", 1_MiB);
  if (!content) throw std::runtime_error(content.error().message);
  return std::string(as_text(*content));
}

flow::Value json_value(const std::string& type, const std::string& json) {
  auto bytes = flow::value_of_json(flow::parse_port_type(type).value(), json);
  if (!bytes) throw std::runtime_error(bytes.error().message);
  return std::make_shared<const flow::Bytes>(std::move(*bytes));
}

flow::Value stations_value() {
  const auto stations = work::stations();
  const std::uint64_t count = stations.size();
  flow::Bytes bytes(sizeof(count) + stations.size() * sizeof(stations[0]));
  std::memcpy(bytes.data(), &count, sizeof(count));
  std::memcpy(bytes.data() + sizeof(count), stations.data(), bytes.size() - sizeof(count));
  return std::make_shared<const flow::Bytes>(std::move(bytes));
}

/// In the order in which the document has them.
std::vector<flow::Value> inputs() {
  const std::string side = std::to_string(work::side);
  return {json_value("struct<20,4:f32@0,f32@4,f32@8,u32@12,u32@16>",
                     "[0,0,1," + side + "," + side + "]"),
          json_value("u32", std::to_string(work::power)), stations_value(),
          json_value("u32", bands)};
}

double sum_of(const flow::Value& output) {
  std::vector<float> values(flow::count_of(*output));
  std::memcpy(values.data(), output->data() + sizeof(std::uint64_t), values.size() * sizeof(float));
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::vector<std::string> rival_command() {
  return {MPIRUN, "--allow-run-as-root", "--bind-to",         "core",
          "-n",   std::to_string(ranks), PROGRAMS "/idw-mpi", "1"};
}

Result<std::vector<double>> rival_round(double wanted) {
  auto printed = output_of({.command = rival_command()}, patience);
  if (!printed) return fail(std::move(printed.error()));
  std::istringstream lines(*printed);
  double found = 0;
  if (!(lines >> found) || std::abs(found - wanted) > tolerance * std::abs(wanted))
    return fail(ErrorCode::internal, "the MPI program computed something else: " + *printed);
  std::vector<double> values;
  for (double milliseconds = 0; lines >> milliseconds;) values.push_back(milliseconds);
  return values;
}

int run(Bench& bench) {
  if (allowed_cores().size() < ranks) {
    std::fputs("idw_mpi needs two cores\n", stderr);
    return 3;
  }
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  if (!orchid) {
    std::fprintf(stderr, "idw_mpi: %s\n", orchid.error().message.c_str());
    return 3;
  }
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  client.deploy_file("idw", FUNCTIONS "/idw.bc");
  client.deploy_file("bands", FUNCTIONS "/bands.bc");
  const flow::Plan plan = plan_of(document());
  FlowWorkers workers(client, plan, ranks);
  const std::vector<flow::Value> given = inputs();
  const auto first = workers.run(plan, given);  // and code is made
  if (!first) throw std::runtime_error(first.error().message);
  const double wanted = sum_of(first->output);
  std::string command;
  for (const std::string& word : rival_command()) command += (command.empty() ? "" : " ") + word;
  bench.compare({.row = "IDW as a flow, 2^33 pairs, against MPI",
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   const auto ran = workers.run(plan, given);
                   if (!ran) return fail(ran.error());
                   if (sum_of(ran->output) != wanted)
                     return fail(ErrorCode::internal, "the flow gave something else");
                   return std::vector<double>{ran->took.count() / 1e3};
                 },
                 .baseline = {"MPI, two ranks, clang++-19 -O3 -march=native", command, ""},
                 .baseline_round = [&] { return rival_round(wanted); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 1.02}}}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("idw_mpi", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "idw_mpi: %s\n", error.what());
    return 3;
  }
}
