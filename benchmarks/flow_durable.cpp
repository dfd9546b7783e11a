// benchmarks/flow_durable.cpp: how many nodes a second does a submitted flow finish?
//
// A whole Orchid with one executor. A flow of 10 000 calls that do not wait for each other is
// submitted, and ends; from before its submission until its end is known. Each call and each answer
// is in the journal before it counts. In the second row the process that runs the flows is killed
// (SIGKILL) when half of the calls have been answered, and the next one goes on. What ends more
// than three times in a minute is begun again after a pause of a second, which is not what is asked
// here: so another Orchid is killed from then on, which has run a flow before. The outputs of all
// rounds are checked, and each round's flow is removed behind it, which is not measured.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/bench.h"
#include "local_orchid.h"
#include "measured.h"
#include "orchid/client.h"
#include "orchid/submitted_flow.h"
#include "wide_flow.h"

namespace orchid::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int nodes = 10'000;
constexpr std::chrono::seconds most{120};
constexpr int kills_without_pause = 3;  // in a minute

std::string name_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

Result<void> kill_flows(const tests::LocalOrchid& orchid) {
  for (const pid_t process : orchid.processes())
    if (name_of(process) == "orchid-flows" && ::kill(process, SIGKILL) == 0) return {};
  return fail(ErrorCode::internal, "no process runs the flows");
}

/// A flow from its submission to its end.
class Submission {
 public:
  Submission(Client& client, const std::string& document)
      : start_(Clock::now()),
        flow_(client.submit_flow({.document = document, .inputs = {{"n", "7"}}})) {}

  Result<void> until_half() const {
    const auto end = start_ + most;
    while (flow_.progress().nodes_done < nodes / 2) {
      if (Clock::now() > end) return fail(ErrorCode::timed_out, "the flow does not get on");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }

  /// Nodes a second.
  Result<std::vector<double>> finish() const {
    const FlowStatus status = flow_.wait(most);
    const std::chrono::duration<double> took = Clock::now() - start_;
    if (status.state != "done") return fail(ErrorCode::internal, status.state + status.message);
    const auto outputs = nlohmann::json::parse(flow_.outputs());
    flow_.remove();
    if (outputs.size() != nodes ||
        !std::ranges::all_of(outputs, [](const auto& output) { return output == 7; }))
      return fail(ErrorCode::internal, "the flow gave something else");
    return std::vector<double>{nodes / took.count()};
  }

 private:
  Clock::time_point start_;
  SubmittedFlow flow_;
};

/// An Orchid that knows the function.
class Site {
 public:
  Site()
      : orchid_(must(tests::LocalOrchid::start(PROGRAMS))),
        client_({.gateway = orchid_.address(), .token = orchid_.token()}) {
    client_.deploy_file("flow_functions", FLOW_FUNCTIONS);
  }
  Result<std::vector<double>> run(const std::string& document) {
    return Submission(client_, document).finish();
  }
  Result<std::vector<double>> run_killed(const std::string& document) {
    const Submission flow(client_, document);
    if (auto half = flow.until_half(); !half) return fail(std::move(half.error()));
    if (auto killed = kill_flows(orchid_); !killed) return fail(std::move(killed.error()));
    ++kills_;
    return flow.finish();
  }
  [[nodiscard]] int kills() const { return kills_; }

 private:
  tests::LocalOrchid orchid_;
  Client client_;
  int kills_ = 0;
};

int run(Bench& bench) {
  const std::string document = wide_flow(nodes);
  const Promise promise{Statistic::p50, {Target::Direction::at_least, 5000}};
  std::optional<Site> site(std::in_place);
  bench.measure({.row = "a submitted flow of 10 000 calls",
                 .unit = "nodes/s",
                 .round = [&] { return site->run(document); },
                 .promises = {promise}});
  bench.measure({.row = "the same, killed in between",
                 .unit = "nodes/s",
                 .round = [&]() -> Result<std::vector<double>> {
                   if (site->kills() == kills_without_pause) {
                     site.emplace();
                     if (auto first = site->run(document); !first) return first;
                   }
                   return site->run_killed(document);
                 },
                 .promises = {promise}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("flow_durable", argc, argv);
  return orchid::bench::run_benchmark(bench, orchid::bench::run);
}
