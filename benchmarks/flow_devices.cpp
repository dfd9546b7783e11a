// benchmarks/flow_devices.cpp: does the optimiser `device` divide a map between a GPU and a core as
// well as the best fixed division?
//
// A map of 200 pieces, alike or as different as rows of a Mandelbrot set, through a gateway whose
// executor has a GPU and one more core; then the same with the core throttled to a quarter by the
// kernel. The GPU is that of the tests' driver, which lets half of the time pass that the core
// takes for an item: calls, trials, decisions and waits are as they are with a real one, and its
// kernels are not. The rival is found by a full search in the same run: each alone, and both with
// the core's last piece at any of many places.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "busy_workers.h"
#include "core_share.h"
#include "flow/devices.h"
#include "flow/optimiser.h"
#include "flow/tuner.h"
#include "flow_run/host_looks.h"
#include "harness/bench.h"
#include "harness/child_process.h"
#include "harness/machine.h"
#include "lone_gateway.h"
#include "measured_flow.h"
#include "orchid/client.h"
#include "scratch_folder.h"
#include "start_up.h"

namespace orchid::bench {
namespace {

constexpr std::uint64_t pieces = 200;
constexpr double usual_piece_ms = 6;  // on the core
constexpr int times_as_fast = 2;      // the GPU
constexpr int quarter = 25;
constexpr unsigned threads = 8;  // more than there are places
constexpr auto patience = std::chrono::seconds(120);

constexpr auto document =
    "flow: sums\noptimise: [device]\n"
    "functions: {device_functions.sum: u64(u64)}\n"
    "inputs: {list: span<u64>}\n"
    "nodes: {work: {kind: map, each: device_functions.sum}}\n"
    "edges: [{from: list, to: work}]\noutputs: {sums: work}\n";

flow::Plan plan_of_sums() {
  flow::Plan plan = plan_of(document);
  plan.needs["device_functions.sum"] = "1 core, 1 GPU | 1 core";
  flow::find_choices_of_devices(plan);
  return plan;
}

/// A gateway and an executor with a GPU whose driver is the fake one. Its directory goes with it.
class SiteWithGpu {
 public:
  SiteWithGpu() : gateway_(LoneGateway::start(scratch_.path(), "127.0.0.1:0")) {
    if (!gateway_) throw std::runtime_error(gateway_.error().message);
    set_time_of_item(std::chrono::nanoseconds(0));
    const std::vector<int> cores = allowed_cores();
    auto executor = ChildProcess::start(
        {.command = {PROGRAMS "/orchid-executor", "--gateway", gateway_->host_and_port(),
                     "--token-file", gateway_->token_file().string(), "--runtime",
                     (scratch_ / "run").string(), "--state", (scratch_ / "state").string(),
                     "--core-list", std::to_string(cores[0]) + "," + std::to_string(cores[1]),
                     "--gpus", "0"},
         .environment = {"LD_LIBRARY_PATH=" FAKE_CUDA_FOLDER ":" DEVICE_TWINS_FOLDER ":" +
                             scratch_.path().string(),
                         "CUDA_FAKE_TWINS=" DEVICE_TWINS,
                         "CUDA_FAKE_ORDERS=" + (scratch_ / "orders").string()},
         .output_file = scratch_ / "executor.log"});
    if (!executor) throw std::runtime_error(executor.error().message);
    executor_.emplace(std::move(*executor));
  }

  [[nodiscard]] Client client() const { return gateway_->client(); }
  [[nodiscard]] std::vector<pid_t> processes() const { return process_tree(executor_->pid()); }
  /// With an image for GPUs, which the bitcode of other benchmarks has not.
  void deploy(Client& client) const {
    const auto module = scratch_ / "device_functions.orc";
    const auto built =
        output_of({.command = {PROGRAMS "/orchid", "build",
                               SOURCES "/benchmarks/device_functions.cpp", "-o", module.string()}},
                  patience);
    if (!built) throw std::runtime_error(built.error().message);
    client.deploy_file("device_functions", module, {.needs = "1 gpu | 1 core"});
  }
  /// On the GPU, from the next launch on.
  void set_time_of_item(std::chrono::nanoseconds time) const {
    std::ofstream(scratch_ / "orders", std::ios::trunc)
        << "slow make_steps " << time.count() << '\n';
  }

 private:
  tests::Scratch scratch_;
  Result<LoneGateway> gateway_;
  std::optional<ChildProcess> executor_;
};

/// As they are without the flow's workers. Errors: they do not become so.
std::vector<flow::HostSituation> free_hosts(Client& client) {
  std::vector<flow::HostSituation> hosts;
  const auto there = wait_until("a GPU and another core are free", [&] {
    hosts = flow::look_at_hosts(client);
    return hosts.size() == 1 && hosts[0].gpus_free == 1 && hosts[0].cores_free == 2;
  });
  if (!there) throw std::runtime_error(there.error().message);
  return hosts;
}

flow::Devices devices_of(std::uint32_t on_gpu, std::uint32_t on_cores, std::uint64_t from = 0) {
  return {.cores = {.calls = on_cores, .from = from}, .gpu = {.calls = on_gpu}};
}

/// All that could have been said before the flow began: who works, and from how many pieces on
/// that are left the core begins none any more.
std::vector<flow::Devices> all_choices() {
  std::vector<flow::Devices> all{devices_of(1, 0), devices_of(0, 1)};
  for (std::uint64_t from = 0; from < pieces; from = from < 12 ? from + 1 : from * 5 / 4)
    all.push_back(devices_of(1, 1, from));
  return all;
}

std::string text_of(const flow::Devices& devices) {
  if (devices.cores.calls == 0) return "all on the GPU";
  if (devices.gpu.calls == 0) return "all on the core";
  return "both, the last " + std::to_string(devices.cores.from) + " pieces on the GPU";
}

class Sums {
 public:
  Sums(Client& client, std::vector<flow::HostSituation> hosts)
      : client_(client), hosts_(std::move(hosts)) {}

  /// Milliseconds of the flow. `devices`: nothing: the optimiser chooses.
  [[nodiscard]] Result<std::vector<double>> run(const flow::Value& list,
                                                const std::optional<flow::Devices>& devices) {
    std::vector<std::unique_ptr<flow::Optimiser>> optimisers;
    if (devices)
      optimisers.push_back(
          std::make_unique<Fixed>(flow::Advice{.devices = devices, .why = "fixed"}));
    else
      optimisers.push_back(flow::make_optimiser({.name = "device", .options = {}}));
    flow::Tuner tuner(plan_, std::move(optimisers));
    tuner.set_hosts(hosts_);
    // Calls of the same run would be answered with what they have given before.
    FlowWorkers calls(client_, plan_, {.threads = threads, .by_gateway = true});
    const auto ran = calls.run(plan_, {list}, &tuner);
    if (!ran) return fail(ran.error());
    if (*known_.try_emplace(list, ran->output).first->second != *ran->output)
      return fail(ErrorCode::internal, "the flow gave something else");
    return std::vector<double>{ran->took.count() / 1e3};
  }

 private:
  Client& client_;
  flow::Plan plan_ = plan_of_sums();
  std::vector<flow::HostSituation> hosts_;
  std::map<flow::Value, flow::Value> known_;
};

double run_once(Sums& sums, const flow::Value& list, const flow::Devices& devices) {
  const auto took = sums.run(list, devices);
  if (!took) throw std::runtime_error(took.error().message);
  return took->front();
}

flow::Value list_of(const std::vector<std::uint64_t>& items) {
  std::vector<std::uint64_t> list{items.size()};
  list.insert(list.end(), items.begin(), items.end());
  const auto bytes = std::as_bytes(std::span(list));
  return std::make_shared<const flow::Bytes>(bytes.begin(), bytes.end());
}

/// What an item takes on the core, by flows of pieces that last some 160 ms, once the code is the
/// best there is.
std::chrono::nanoseconds time_of_item(Sums& sums) {
  constexpr std::uint64_t items = 30'000;
  constexpr std::uint64_t count = 10;
  constexpr std::chrono::seconds warm_up{15};
  const flow::Value list = list_of(std::vector<std::uint64_t>(count, items));
  const auto end = std::chrono::steady_clock::now() + warm_up;
  double least = run_once(sums, list, devices_of(0, 1));
  while (std::chrono::steady_clock::now() < end)
    least = std::min(least, run_once(sums, list, devices_of(0, 1)));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(least * 1e6 / (items * count)));
}

/// The items of pieces that take as long as they are to on the average.
std::vector<std::uint64_t> pieces_of(bool alike, std::chrono::nanoseconds item) {
  // Rows of a Mandelbrot set, in microseconds.
  static const std::vector<double> rows{1, 2, 15, 63, 94, 118, 153, 313, 163, 119, 94, 63, 22, 3};
  constexpr double mean = 87.4;
  const double usual = usual_piece_ms * 1e6 / static_cast<double>(item.count());
  std::vector<std::uint64_t> items;
  for (std::uint64_t i = 0; i < pieces; ++i)
    items.push_back(static_cast<std::uint64_t>(usual * (alike ? 1 : rows[i % rows.size()] / mean)) +
                    1);
  return items;
}

void compare(Bench& bench, Sums& sums, std::chrono::nanoseconds item, const std::string& where) {
  const std::vector<flow::Devices> choices = all_choices();
  for (const bool alike : {true, false}) {
    const flow::Value list = list_of(pieces_of(alike, item));
    const flow::Devices best = choices[best_choice(
        choices.size(), [&](std::size_t i) { return sums.run(list, choices[i]); })];
    bench.compare(
        {.row = (alike ? "pieces that are alike" : "pieces as rows of a Mandelbrot set") + where,
         .unit = "ms",
         .round = [&] { return sums.run(list, std::nullopt); },
         .baseline = {"the best fixed division: " + text_of(best), bench.command_line(), ""},
         .baseline_round = [&] { return sums.run(list, best); },
         .promises = {{Statistic::p50, {Target::Direction::at_most, 1.05}}}});
  }
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("flow_devices needs two cores\n", stderr);
    return 3;
  }
  auto share = CoreShare::make(quarter);  // goes after the workers
  SiteWithGpu site;
  Client client = site.client();
  site.deploy(client);
  Sums sums(client, free_hosts(client));
  const std::chrono::nanoseconds item = time_of_item(sums);
  std::fprintf(stderr, "an item takes %lld ns on the core\n", static_cast<long long>(item.count()));
  site.set_time_of_item(item / times_as_fast);
  const flow::Value warm = list_of(pieces_of(true, item));
  const std::vector<pid_t> workers = busiest_workers(
      [&] { return site.processes(); }, [&] { run_once(sums, warm, devices_of(0, 1)); });
  if (workers.empty()) throw std::runtime_error("there is no worker");
  if (auto pinned = pin(workers[0], cores[1]); !pinned)
    throw std::runtime_error(pinned.error().message);
  compare(bench, sums, item, "");
  if (share) {
    if (auto added = share->add(workers[0]); !added)
      throw std::runtime_error(added.error().message);
    compare(bench, sums, item, ", the core throttled to a quarter");
  } else {
    std::fprintf(stderr, "rows with a slow core are left out, root's cgroups are needed: %s\n",
                 share.error().message.c_str());
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("flow_devices", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flow_devices: %s\n", error.what());
    return 3;
  }
}
