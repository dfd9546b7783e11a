#include "share/step_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "share/slurm_steps.h"

namespace orchid::share {

std::optional<ByteCount> memory_of(const ShareOption& option, const BatchJob& job,
                                   std::uint32_t cpus) {
  std::optional<ByteCount> all = job.per_node;
  if (job.per_cpu) all = ByteCount{job.per_cpu->value * cpus};
  if (option.memory_bytes != 0)
    return std::min(ByteCount{option.memory_bytes}, all.value_or(ByteCount{option.memory_bytes}));
  if (!all || option.cores == 0 || option.cores >= cpus) return all;
  return ByteCount{all->value / cpus * option.cores};
}

std::vector<std::string> step_command(const ShareRequest& r) {
  const std::string nodes = std::to_string(r.job.nodes());
  // --overlap: it takes nothing away from steps that come; it sees to that itself.
  std::vector<std::string> words{r.srun,
                                 fmt::format("--jobid={}", r.job.id),
                                 fmt::format("--job-name={}", step_name),
                                 "--overlap",
                                 "--nodes=" + nodes,
                                 "--ntasks=" + nodes,
                                 "--ntasks-per-node=1",
                                 "--gres=none",
                                 "--kill-on-bad-exit=0",
                                 "--wait=0",
                                 "--mpi=none",
                                 "--input=none",
                                 "--quiet",
                                 "--export=ALL",
                                 r.programs / "orchid",
                                 "share",
                                 "keep",
                                 "--gateway-grace",
                                 fmt::format("{}s", r.gateway_grace.count())};
  const auto add = [&words](const char* name, std::string value) {
    words.emplace_back(name);
    words.push_back(std::move(value));
  };
  if (r.site) {
    words.emplace_back("--site");
    if (!r.host_socket.empty()) add("--host-socket", r.host_socket);
    if (r.for_everybody) add("--for", "everybody");
  } else {
    add("--address", r.gateway);
    add("--token-file", r.token_file);
    add("--lane-listen", r.lane_listen);
    add("--host-identity", r.host_is_node ? "node" : "boot");
    if (r.data_memory) add("--data-memory", std::to_string(r.data_memory->value));
  }
  if (r.option.cores != 0) add("--cores", std::to_string(r.option.cores));
  // Nodes of one job may have different numbers of CPUs: each reckons by its own.
  const auto add_memory = [&add](const char* name, const std::optional<ByteCount>& memory) {
    if (memory && memory->value != 0) add(name, fmt::format("{}MiB", memory->value >> 20));
  };
  add_memory("--memory", ByteCount{r.option.memory_bytes});
  add_memory("--memory-per-cpu", r.job.per_cpu);
  add_memory("--memory-per-node", r.job.per_node);
  if (r.option.bandwidth_bytes != 0)
    add("--bandwidth-cap", fmt::format("{}MiB", r.option.bandwidth_bytes >> 20));
  if (r.ends_in) add("--ends-in", fmt::format("{}s", (*r.ends_in - end_margin).count()));
  return words;
}

std::vector<std::string> step_environment(const std::vector<std::string>& all) {
  constexpr std::array<std::string_view, 9> kept{
      "PATH=",   "HOME=",           "USER=",       "LOGNAME=",           "LANG=",
      "TMPDIR=", "XDG_STATE_HOME=", "SLURM_CONF=", "SLURM_CLUSTER_NAME="};
  std::vector<std::string> variables;
  for (const std::string& variable : all)
    if (std::ranges::any_of(kept,
                            [&](std::string_view name) { return variable.starts_with(name); }))
      variables.push_back(variable);
  return variables;
}

}  // namespace orchid::share
