#include "cluster_pilots.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/child_process.h"
#include "start_up.h"

namespace orchid::bench {
namespace {

constexpr std::chrono::seconds pilot_patience{30};

}  // namespace

Result<std::uint64_t> ClusterPilots::submit(unsigned cores, const PilotExtras& extras) const {
  std::vector<std::string> command{PROGRAMS "/orchid", "pilot", "start", "--json"};
  command.insert(command.end(), {"--address", gateway_.host_and_port, "--host-identity", "node"});
  command.insert(command.end(), {"--partition", "idle", "--time", "10m"});
  command.insert(command.end(), {"--cores", std::to_string(cores)});
  if (extras.memory)
    command.insert(command.end(), {"--memory", std::to_string(extras.memory->value)});
  if (extras.bandwidth_cap)
    command.insert(command.end(), {"--bandwidth-cap", std::to_string(extras.bandwidth_cap->value)});
  const auto started =
      output_of({.command = std::move(command),
                 .environment = {cluster_.environment(), "ORCHID_GATEWAY=unix:" + gateway_.socket}},
                pilot_patience);
  if (!started) return fail(started.error());
  return nlohmann::json::parse(*started).at("pilots").at(0).at("job").get<std::uint64_t>();
}

Result<void> ClusterPilots::start(unsigned cores, const PilotExtras& extras) {
  if (auto submitted = submit(cores, extras); !submitted) return fail(std::move(submitted.error()));
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
  const auto runs = cluster_.next_line(pilot_patience);
  if (!runs) return fail(runs.error());
  return {};
}

}  // namespace orchid::bench
