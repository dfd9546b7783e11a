#include "cluster_pilots.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/child_process.h"
#include "start_up.h"

namespace orchid::bench {
namespace {

constexpr std::chrono::seconds patience{30};

}  // namespace

Result<void> ClusterPilots::start(unsigned cores) {
  const auto started =
      output_of({.command = {PROGRAMS "/orchid", "pilot", "start", "--address",
                             gateway_.host_and_port, "--host-identity", "node", "--partition",
                             "idle", "--cores", std::to_string(cores), "--time", "10m"},
                 .environment = {cluster_.environment(), "ORCHID_GATEWAY=unix:" + gateway_.socket}},
                patience);
  if (!started) return fail(started.error());
  return wait_until("the pilot has joined", [this] { return has_joined(); });
}

bool ClusterPilots::has_joined() {
  const auto known = nlohmann::json::parse(client_.get("/v1/hosts"));
  for (const auto& host : known.at("hosts"))
    for (const auto& executor : host.at("executors"))
      if (executor.at("grant").value("node", "") == "n1" && executor.at("state") == "connected")
        return true;
  return false;
}

Result<void> ClusterPilots::start_sleep(unsigned cores) {
  const auto job = cluster_.submit(
      {"--partition=idle", "--nodes=1", "--ntasks-per-node=1",
       fmt::format("--cpus-per-task={}", cores)},
      fmt::format("exec srun --export=ALL --nodes=1 --ntasks=1 --ntasks-per-node=1 "
                  "--cpus-per-task={} --kill-on-bad-exit=0 --wait=0 --mpi=none --input=none "
                  "/bin/bash -c 'echo runs > {}; exec sleep 600'\n",
                  cores, cluster_.pipe().string()));
  if (!job) return fail(job.error());
  const auto runs = cluster_.next_line(patience);
  if (!runs) return fail(runs.error());
  return {};
}

}  // namespace orchid::bench
