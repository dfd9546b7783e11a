// benchmarks/pilot_start.cpp: how long after its job has got its node does a pilot answer its first
// call?
//
// A real slurmctld and a real slurmd with one idle node of one core; the gateway is on the same
// machine. Calls are sent from the submission on, until one is answered; the code is compiled
// already. The control is a job of the same shape whose step says something at once: what anybody
// waits for who starts one. Part of that is when the job's script begins. Time runs from
// slurmctld's decision (the millisecond in its log), not from the submission: when it looks at the
// queue is up to it.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

#include "batch_cluster.h"
#include "cluster_pilots.h"
#include "harness/bench.h"
#include "lone_gateway.h"
#include "orchid/client.h"
#include "start_up.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

constexpr auto patience = 30s;
constexpr auto look_again = 5ms;

class Bed {
 public:
  Bed(BatchCluster& cluster, const LoneGateway& gateway)
      : cluster_(cluster),
        client_(gateway.client()),
        pilots_(cluster, {.socket = gateway.socket(), .host_and_port = gateway.host_and_port()},
                client_) {
    client_.deploy_file("spins", std::filesystem::path(TEST_FUNCTIONS) / "spins.bc");
  }

  /// Milliseconds.
  [[nodiscard]] Result<std::vector<double>> first_call() {
    auto submitted = std::async(std::launch::async, [this] { return pilots_.submit(1); });
    const auto answered = first_answer();
    const auto pilot = submitted.get();
    if (!pilot) return fail(pilot.error());
    if (!answered) return fail(answered.error());
    return time_since_start_of(*pilot, *answered);
  }

  [[nodiscard]] Result<std::vector<double>> first_line_of_a_step() {
    return first_line(
        fmt::format("srun --ntasks=1 --input=none --mpi=none /bin/bash -c 'echo > {}; sleep 600'\n",
                    cluster_.pipe().string()));
  }

  [[nodiscard]] Result<std::vector<double>> first_line_of_a_script() {
    return first_line(fmt::format("echo > {}\nexec sleep 600\n", cluster_.pipe().string()));
  }

 private:
  /// A call waits for an executor, but not for as long as a pilot may need.
  [[nodiscard]] Result<system_clock::time_point> first_answer() {
    const auto give_up = system_clock::now() + patience;
    while (true) {
      try {
        (void)client_.invoke("spins", "0", {.deadline = patience});
        return system_clock::now();
      } catch (const Error& error) {
        if (system_clock::now() > give_up) return fail(ErrorCode::timed_out, error.what());
      }
      std::this_thread::sleep_for(look_again);
    }
  }

  [[nodiscard]] Result<std::vector<double>> first_line(const std::string& script) {
    const auto job = cluster_.submit(
        {"--partition=idle", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=1"}, script);
    if (!job) return fail(job.error());
    const auto said = cluster_.next_line(patience);
    if (!said) return fail(said.error());
    return time_since_start_of(*job, system_clock::now());
  }

  /// The node is idle again when it returns.
  [[nodiscard]] Result<std::vector<double>> time_since_start_of(std::uint64_t job,
                                                                system_clock::time_point end) {
    const auto allocated = cluster_.allocated(job);
    if (!allocated) return fail(allocated.error());
    const std::chrono::duration<double, std::milli> took = end - *allocated;
    if (auto left = cluster_.run({"scancel", "--partition=idle"}); !left) return fail(left.error());
    if (auto empty = cluster_.wait_until_empty(); !empty) return fail(empty.error());
    return std::vector{took.count()};
  }

  BatchCluster& cluster_;
  Client client_;
  ClusterPilots pilots_;
};

int failed(const Failure& why) {
  std::fprintf(stderr, "pilot_start: %s\n", why.message.c_str());
  return 3;
}

int run(Bench& bench) {
  auto cluster =
      BatchCluster::start({.nodes = 1, .cores = 1, .scheduler_parameters = "batch_sched_delay=0"});
  if (!cluster) return failed(cluster.error());
  auto gateway = LoneGateway::start((*cluster)->directory(), "127.0.0.1:0");
  if (!gateway) return failed(gateway.error());
  Bed bed(**cluster, *gateway);
  if (auto warm = bed.first_call(); !warm) return failed(warm.error());
  bench.compare(
      {.row = "a pilot's start to its first call's result",
       .unit = "ms",
       .round = [&] { return bed.first_call(); },
       .baseline = {"a job's start to the first line of its step", bench.command_line(), ""},
       .baseline_round = [&] { return bed.first_line_of_a_step(); },
       .promises = {}});
  bench.measure({.row = "a job's start to the first line of its script",
                 .unit = "ms",
                 .round = [&] { return bed.first_line_of_a_script(); },
                 .promises = {}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("pilot_start", argc, argv);
  return orchid::bench::run(bench);
}
